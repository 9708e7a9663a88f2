import Network
import Programs
import Storage

/// Stores pushes that are sent after their request.
extension Dispatcher {
    /// Stores an event for the worker to send immediately; returns false if its tenant has no devices.
    func sendLater(_ dispatch: Dispatch) async throws(APIError) -> Bool {
        guard let stored = StoredDispatch(dispatch) else { throw APIError(.internalError) }
        let now = shared.clock.now
        let schedule = Schedule(
            id: services.makeID(at: now), secretHash: dispatch.tenant.primary, kind: .async,
            content: stored.json, nextAt: now, lateBy: Bounds.deferredLateBy.inMilliseconds, createdAt: now)
        let creation: ScheduleCreation
        do throws(StorageError) {
            creation = try await shared.schedules.create(
                schedule, under: dispatch.tenant, limit: Bounds.asyncEventsPerSecretMax)
        } catch {
            throw APIError(error)
        }
        switch creation {
        case .created, .replaced: return true
        case .noDevices: return false
        case .limitReached:
            throw APIError(
                .rateLimited, hint: "Too many of this secret's events are waiting to be sent.",
                retryAfterSeconds: Bounds.asyncRetryAfterSeconds, limit: .events)
        }
    }

    /// Stores pushes that wait for the end of their devices' quiet hours; a session's latest push replaces its earlier
    /// ones.
    func hold(
        _ dispatch: Dispatch, _ recipients: Recipients, _ held: [(index: Int, until: EpochMilliseconds)],
        _ results: inout [DeviceResult]
    ) async {
        for (index, until) in held {
            let device = recipients.devices[index]
            let stored = StoredDispatch(dispatch, waitingFor: device)
            guard let reason = await failureOfHolding(stored, dispatch, device, until) else { continue }
            results[index] = DeviceResult(
                deviceID: device.id, maskedToken: device.maskedToken, status: .failed(reason: reason))
        }
    }

    private func failureOfHolding(
        _ stored: StoredDispatch?, _ dispatch: Dispatch, _ device: Device, _ until: EpochMilliseconds
    ) async -> String? {
        guard let stored else { return FailureReason.queueUnavailable }
        let session = dispatch.content.sessionID
        let schedule = Schedule(
            id: services.makeID(), secretHash: dispatch.tenant.primary, kind: .held,
            name: session.isEmpty ? nil : Digest256(ofParts: [device.id, session]).hex,
            content: stored.json, nextAt: until, lateBy: Bounds.deferredLateBy.inMilliseconds,
            createdAt: shared.clock.now)
        do throws(StorageError) {
            switch try await shared.schedules.create(
                schedule, under: dispatch.tenant, limit: Bounds.heldPushesPerSecretMax)
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
