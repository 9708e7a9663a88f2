import HTTPServer
import Network
import Storage

/// `POST /v1/event`: pushes an event to every device under a secret.
struct EventRoute: AnsweringRoute {
    let services: LoopServices

    /// Answers when each device has an outcome, or at the event's deadline.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let started = services.loop.now
        let shared = services.shared
        let event = try EventRequest(body: request.body, rules: shared.rules)
        let key = shared.hasher.key(of: event.secret)
        trace.add(.secretHash(key.primary))
        guard let eventID = event.eventID else {
            return Reply(body: try await deliver(event, key, started, &trace))
        }
        let now = shared.clock.now
        let lease = shared.limits.eventDeadline + Bounds.claimLeaseMargin
        let claim = EventClaim(
            id: services.makeID(), key: key, eventID: eventID, content: event.content, at: now,
            leaseUntil: now + lease.inMilliseconds)
        return Reply(body: try await once(claim, event, started, &trace))
    }

    // MARK: Once per eventID

    /// Delivers the event unless another request does or did; then that one's answer is this one's.
    private func once(
        _ claim: EventClaim, _ event: EventRequest, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        var interval = Bounds.claimPollIntervalMin
        while true {
            switch try await self.claim(claim) {
            case .claimed:
                return try await deliverClaimed(claim, event, started, &trace)
            case .answered(let answer):
                trace.add(.count("repeated", 1))
                return answer
            case .conflict:
                throw APIError(.eventConflict, field: .eventID)
            case .inProgress:
                let waited = services.loop.now.since(started)
                guard waited < shared.limits.eventDeadline, !Task.isCancelled else {
                    throw APIError(.overloaded, logDetail: "another request is still handling the eventID")
                }
                await services.loop.pause(interval)
                interval = min(interval * 2, Bounds.claimPollIntervalMax)
            }
        }
    }

    private func claim(_ claim: EventClaim) async throws(APIError) -> EventClaimResult {
        do throws(StorageError) {
            return try await shared.storage.claim(claim)
        } catch {
            throw APIError(error)
        }
    }

    private func deliverClaimed(
        _ claim: EventClaim, _ event: EventRequest, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        let answer: [UInt8]
        do throws(APIError) {
            answer = try await deliver(event, claim.key, started, &trace)
        } catch {
            // Nothing was sent: the caller's next attempt shall find the event unclaimed.
            do throws(StorageError) {
                try await shared.storage.release(claim)
            } catch {
                shared.log(.warning, "receipt.not_released", [.storageError(error)])
            }
            throw error
        }
        // From here on pushes are out: whatever becomes of the receipt, the caller gets this answer.
        do throws(StorageError) {
            if try await !shared.storage.complete(claim, answer: answer) {
                shared.log(.warning, "receipt.lost", [.secretHash(claim.key.primary)])
            }
        } catch {
            shared.log(.error, "receipt.not_kept", [.secretHash(claim.key.primary), .storageError(error)])
        }
        return answer
    }

    // MARK: Delivery

    private var shared: Services { services.shared }

    /// Pushes to every device and returns the answer's body.
    ///
    /// Throws only while nothing has been sent.
    private func deliver(
        _ event: EventRequest, _ key: SecretKey, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        guard !services.slots.refuses(1) else { throw APIError(.overloaded) }
        let devices: [Device]
        do throws(StorageError) {
            devices = try await shared.storage.devices(of: key)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("devices", devices.count))
        guard !devices.isEmpty else { return EventAnswer(results: []).body }
        guard services.slots.take(devices.count) else { throw APIError(.overloaded) }
        let fanOut = FanOut(
            devices, payload: event.payload(sound: shared.push.sound),
            expiration: shared.push.expiration(at: shared.clock.now), on: services)
        let results = await fanOut.run(
            deadline: shared.limits.eventDeadline - services.loop.now.since(started))
        let answer = EventAnswer(results: results)
        trace.add(.count("sent", answer.sent))
        trace.add(.count("failed", answer.failed))
        record(event, key, results)
        return answer.body
    }

    /// Hands the results to the delivery log.
    private func record(_ event: EventRequest, _ key: SecretKey, _ results: [DeviceResult]) {
        let now = shared.clock.now
        shared.deliveryLog.append(
            results.map { result in
                let (status, error): (DeliveryStatus, String?) =
                    switch result.status {
                    case .sent: (.sent, nil)
                    case .failed(let reason): (.failed, reason)
                    }
                return Delivery(
                    id: result.pushID ?? services.makeID().text, secretHash: key.primary,
                    eventType: event.type.rawValue,
                    sessionID: event.sessionID, status: status, error: error, createdAt: now)
            })
    }
}

extension EventLoop {
    /// Waits on this loop.
    ///
    /// Only on the loop.
    nonisolated(nonsending) func pause(_ duration: Duration) async {
        var timer: Timer?
        await withCheckedContinuation { continuation in
            timer = Timer(on: self) { continuation.resume() }
            timer?.schedule(after: duration)
        }
        timer?.cancel()
    }
}
