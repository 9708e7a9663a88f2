import APNs
import HTTPServer
import Network
import Storage

/// What events and notifications have in common: limits, once for each `eventID`, fan-out, answer and delivery log.
struct Pushing {
    let services: LoopServices

    /// What is to be pushed, and for whom.
    struct Order: Sendable {
        /// The secret's.
        let key: SecretKey
        let content: any PushContent
        let eventID: String?
        /// Two orders under one `eventID` must agree in it.
        let digest: Digest256
        /// The one device that it is for; `nil` is all.
        var onlyDevice: DeviceToken?
    }

    /// Answers when each device has an outcome, or at the event's deadline.
    ///
    /// - Parameter started: When the request was there.
    func answer(
        _ order: Order, _ request: Request, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        trace.add(.secretHash(order.key.primary))
        try shared.rates.countEvent(order.key, at: started)
        let devices = try await devices(of: order)
        if devices.isEmpty { try shared.rates.countUnknownSecret(request, at: services.loop.now) }
        guard let eventID = order.eventID else {
            return Reply(body: try await deliver(order, to: devices, started, &trace))
        }
        return Reply(body: try await once(eventID, order, to: devices, started, &trace))
    }

    // MARK: Once per eventID

    /// Delivers unless another request does or did; then that one's answer is this one's.
    private func once(
        _ eventID: String, _ order: Order, to devices: [Device],
        _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        var interval = Bounds.claimPollIntervalMin
        var devices = devices
        while true {
            // Made anew each time: a claim won late is as long as one won at once.
            let now = shared.clock.now
            let lease = shared.limits.eventDeadline + shared.limits.claimLeaseMargin
            let claim = EventClaim(
                id: services.makeID(), key: order.key, eventID: eventID, content: order.digest, at: now,
                leaseUntil: now + lease.inMilliseconds)
            switch try await self.claim(claim) {
            case .claimed:
                return try await deliverClaimed(claim, order, to: devices, started, &trace)
            case .answered(let answer):
                trace.add(.count("repeated", 1))
                return answer
            case .conflict:
                throw APIError(.eventConflict, field: .eventID)
            case .inProgress:
                let waited = services.loop.now.since(started)
                // The other one may use all of its time, and then has its answer to store.
                let deadline = shared.limits.eventDeadline
                guard waited < deadline + min(Bounds.claimWaitMargin, deadline / 2), !Task.isCancelled else {
                    throw APIError(
                        .overloaded, retryAfterSeconds: Bounds.claimRetryAfterSeconds,
                        logDetail: "another request is still handling the eventID")
                }
                await services.loop.pause(interval)
                interval = min(interval * 2, Bounds.claimPollIntervalMax)
                devices = try await self.devices(of: order)
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
        _ claim: EventClaim, _ order: Order, to devices: [Device], _ started: MonotonicTime,
        _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        let answer: [UInt8]
        do throws(APIError) {
            answer = try await deliver(order, to: devices, started, &trace)
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
        await keep(answer, of: claim)
        return answer
    }

    /// Keeps the answer for the same `eventID`; after a failure that may pass the caller isn't kept waiting.
    private func keep(_ answer: [UInt8], of claim: EventClaim) async {
        guard let failure = await failureOfKeeping(answer, of: claim) else { return }
        guard failure.isTransient, services.receiptsRetried < Bounds.receiptsRetriedMax else {
            return noteNotKept(claim, failure)
        }
        services.receiptsRetried += 1
        nonisolated(unsafe) let pushing = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            await pushing.keepTrying(answer, of: claim)
            pushing.services.receiptsRetried -= 1
        }
    }

    /// Until it is kept, a database that comes back would let the event be sent again.
    private func keepTrying(_ answer: [UInt8], of claim: EventClaim) async {
        let end = services.loop.now + Bounds.receiptRetryTime
        var delay = Bounds.receiptRetryDelayMin
        while true {
            await services.loop.pause(delay)
            guard let failure = await failureOfKeeping(answer, of: claim) else { return }
            guard failure.isTransient, services.loop.now < end else { return noteNotKept(claim, failure) }
            delay = min(delay * 2, Bounds.receiptRetryDelayMax)
        }
    }

    private func failureOfKeeping(_ answer: [UInt8], of claim: EventClaim) async -> StorageError? {
        do throws(StorageError) {
            if try await !shared.storage.complete(claim, answer: answer) {
                shared.log(.warning, "receipt.lost", [.secretHash(claim.key.primary)])
            }
            return nil
        } catch {
            return error
        }
    }

    private func noteNotKept(_ claim: EventClaim, _ failure: StorageError) {
        shared.log(.error, "receipt.not_kept", [.secretHash(claim.key.primary), .storageError(failure)])
    }

    // MARK: Delivery

    private var shared: Services { services.shared }

    /// The secret's devices, unless there is too much to do already.
    private func devices(of order: Order) async throws(APIError) -> [Device] {
        guard !services.slots.refuses(1) else { throw APIError(.overloaded, limit: .pushes) }
        do throws(StorageError) {
            let devices = try await shared.storage.devices(of: order.key)
            let primary = order.key.primary
            guard devices.indices.contains(where: { devices[$0].secretHash != primary }) else {
                return devices
            }
            // Before anything is sent: what is stored for a device later must find it under the hash it has now.
            guard try await shared.storage.rehash(order.key) else { return devices }
            shared.log(
                .info, "secret.rehashed",
                [.secretHash(order.key.primary), .count("devices", devices.count)])
            return try await shared.storage.devices(of: order.key)
        } catch {
            throw APIError(error)
        }
    }

    /// Pushes to every device and returns the answer's body.
    ///
    /// Throws only while nothing has been sent.
    private func deliver(
        _ order: Order, to devices: [Device], _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        let devices =
            order.onlyDevice.map { only in
                // Rows that OpenCode's relay made may have capitals.
                devices.filter { DeviceToken($0.token) == only }
            } ?? devices
        trace.add(.count("devices", devices.count))
        guard !devices.isEmpty else { return EventAnswer(results: []).body }
        let left = shared.limits.eventDeadline - services.loop.now.since(started)
        guard left > .zero else {
            // Pushes that nobody waits for any more would be sent again when the caller tries again.
            throw APIError(.storageUnavailable, logDetail: "the look-up took longer than the event may")
        }
        guard services.slots.take(devices.count) else { throw APIError(.overloaded, limit: .pushes) }
        let fanOut = FanOut(devices, order.content, on: services)
        let results = await fanOut.run(deadline: left)
        let answer = EventAnswer(results: results)
        trace.add(.count("sent", answer.sent))
        trace.add(.count("failed", answer.failed))
        if answer.muted > 0 { trace.add(.count("muted", answer.muted)) }
        if answer.queued > 0 { trace.add(.count("queued", answer.queued)) }
        record(order, results)
        return answer.body
    }

    /// Hands the results to the delivery log; what is queued comes there when it has ended,
    /// and what is muted never.
    private func record(_ order: Order, _ results: [DeviceResult]) {
        let now = shared.clock.now
        let (type, session) = (order.content.logType, order.content.sessionID)
        // By index, which copies no result.
        let rows = results.indices.lazy.filter { results[$0].isEnded }.map { index in
            var error: String?
            if case .failed(let reason) = results[index].status { error = reason }
            return Delivery(
                id: results[index].pushID ?? services.makeID().text, secretHash: order.key.primary,
                eventType: type, sessionID: session, status: error == nil ? .sent : .failed, error: error,
                createdAt: now, deviceID: results[index].deviceID)
        }
        shared.deliveryLog.append(rows)
    }
}

extension DeviceResult {
    /// Whether nothing follows: it was sent or given up.
    fileprivate var isEnded: Bool {
        switch status {
        case .sent, .failed: true
        case .queued, .muted: false
        }
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
