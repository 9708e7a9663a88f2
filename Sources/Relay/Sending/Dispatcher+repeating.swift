import Programs
import Storage

/// Repeats pushes until their event is acknowledged.
extension Dispatcher {
    /// Stores the repetitions of an event before its first push, so that they survive a crash.
    ///
    /// Storing the repetitions again replaces them.
    func startRepeating(
        _ dispatch: Dispatch, _ eventID: String, _ repetition: Repetition
    ) async throws(APIError) {
        guard let stored = StoredDispatch(dispatch, repeating: eventID) else {
            throw APIError(.internalError)
        }
        let now = services.shared.clock.now
        let interval = EpochMilliseconds(repetition.every) * 1_000
        let schedule = Schedule(
            id: services.makeID(at: now), secretHash: dispatch.tenant.primary, kind: .repeat, name: eventID,
            rule: repetition.rule, content: stored.json, nextAt: now + interval,
            endsAt: now + EpochMilliseconds(repetition.total) * 1_000, lateBy: interval, createdAt: now)
        do throws(StorageError) {
            switch try await services.shared.schedules.create(
                schedule, under: dispatch.tenant, limit: Bounds.repeatedEventsPerSecretMax)
            {
            case .created, .replaced, .noDevices: return
            case .limitReached: break
            }
        } catch {
            throw APIError(error)
        }
        throw APIError(
            .rateLimited, hint: "Too many of this secret's events are being repeated.",
            retryAfterSeconds: Bounds.repeatRetryAfterSeconds, limit: .events)
    }
}

extension LoopServices {
    /// Ends the repetitions of an event that was acknowledged.
    ///
    /// If the database fails now, the next repetition finds the acknowledgement.
    func stopRepeating(_ event: EventName) async {
        do throws(StorageError) {
            _ = try await shared.storage.cancel(.name(event.eventID), kind: .repeat, of: event.key)
        } catch {
            shared.log(
                .warning, "repeat.not_ended", [.secretHash(event.key.primary), .storageError(error)])
        }
    }
}
