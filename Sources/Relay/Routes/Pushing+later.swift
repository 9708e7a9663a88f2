import HTTPServer
import Network
import Storage

/// Stores pushes that are sent after their request.
extension Pushing {
    /// Responds once the event is stored; the worker sends it immediately, with the request's `eventID`.
    func answerAtOnce(
        _ order: Order, _ request: Request, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let shared = services.shared
        trace.add(.secretHash(order.key.primary))
        guard !shared.blocked.contains(order.key) else { throw APIError(.blocked) }
        try shared.rates.countEvent(order.key, at: started)
        guard let stored = try order.stored else { throw APIError(.internalError) }
        let now = shared.clock.now
        let schedule = Schedule(
            id: services.makeID(at: now), secretHash: order.key.primary, kind: .async, content: stored.json,
            nextAt: now, lateBy: Bounds.deferredLateBy.inMilliseconds, createdAt: now)
        let creation: ScheduleCreation
        do throws(StorageError) {
            creation = try await shared.schedules.create(
                schedule, under: order.key, limit: Bounds.asyncEventsPerSecretMax)
        } catch {
            throw APIError(error)
        }
        switch creation {
        case .created, .replaced: break
        case .noDevices: try shared.rates.countUnknownSecret(request, at: services.loop.now)
        case .limitReached:
            throw APIError(
                .rateLimited, hint: "Too many of this secret's events wait to be sent.",
                retryAfterSeconds: Bounds.asyncRetryAfterSeconds, limit: .events)
        }
        var reply = Reply.ok
        reply.status = 202
        return reply
    }

    /// Stores pushes that wait for the end of their devices' quiet hours; a session's latest replaces the others.
    func hold(
        _ order: Order, _ devices: [Device], _ held: [(index: Int, until: EpochMilliseconds)],
        _ results: inout [DeviceResult]
    ) async {
        var stored = try? order.stored
        stored?.eventID = nil
        stored?.heldEvent = order.acknowledgedAs
        for (index, until) in held {
            let device = devices[index]
            stored?.deviceID = device.id
            guard let reason = await failureOfHolding(stored, order, device, until) else { continue }
            results[index] = DeviceResult(
                deviceID: device.id, maskedToken: device.maskedToken, status: .failed(reason: reason))
        }
    }

    private func failureOfHolding(
        _ stored: StoredOrder?, _ order: Order, _ device: Device, _ until: EpochMilliseconds
    ) async -> String? {
        guard let stored else { return FailureReason.queueUnavailable }
        let shared = services.shared
        let session = order.content.sessionID
        let schedule = Schedule(
            id: services.makeID(), secretHash: order.key.primary, kind: .held,
            name: session.isEmpty ? nil : Digest256(ofParts: [device.id, session]).hex,
            content: stored.json, nextAt: until, lateBy: Bounds.deferredLateBy.inMilliseconds,
            createdAt: shared.clock.now)
        do throws(StorageError) {
            switch try await shared.schedules.create(
                schedule, under: order.key, limit: Bounds.heldPushesPerSecretMax)
            {
            case .created, .replaced: return nil
            case .limitReached: return FailureReason.queueFull
            case .noDevices: return FailureReason.deviceRemoved
            }
        } catch {
            shared.log(.error, "queue.failed", [.count("pushes", 1), .storageError(error)])
            return FailureReason.queueUnavailable
        }
    }
}

extension Pushing.Order {
    /// The order to store for sending later; `nil` if it can't be sent later.
    var stored: StoredOrder? {
        get throws(APIError) {
            switch source {
            case .none: return nil
            case .stored(let stored): return stored
            case .request(let target, let bytes):
                var fields: Set<RequestField> = [.secret, .eventID, .async, .repeat]
                // Not a field of events, so it has no effect there.
                if target == .event { fields.insert(.deviceToken) }
                let body = try RequestFields(body: bytes).members(without: fields)
                return StoredOrder(target, body: body, eventID: eventID)
            }
        }
    }
}
