import Network
import Programs
import Storage

/// Sends occurrences as if they had just been requested.
///
/// Confined to its services' loop.
struct OccurrenceSender {
    let services: LoopServices

    private var shared: Services { services.shared }

    /// Sends an occurrence only once, however often this is called.
    nonisolated(nonsending) func send(_ occurrence: Occurrence) async -> OccurrenceResult {
        let schedule = occurrence.schedule
        guard let stored = StoredDispatch(json: schedule.content) else { return .over(.invalid) }
        let tenant = SecretKey(primary: schedule.secretHash)
        let origin = stored.origin(schedule.kind, receiptID: occurrence.receiptID)
        let content: any PushContent
        do throws(APIError) {
            content = try stored.checked(services.rules, acknowledgedAs: origin.event ?? occurrence.receiptID)
        } catch {
            shared.log(
                .warning, "schedule.invalid",
                [.secretHash(schedule.secretHash), .note("schedule", schedule.id.text), .code(error.code)])
            return .over(.invalid)
        }
        if schedule.hasWaited(until: shared.clock.now), let name = stored.knownEvent {
            let event = EventName(name, of: tenant)
            do throws(StorageError) {
                if try await shared.replies.known(of: event) != nil {
                    await services.stopRepeating(event)
                    return .over(.skipped)
                }
            } catch {
                return .postponed(.storage, seconds: Bounds.scheduleRetrySeconds)
            }
        }
        let dispatch = Dispatch(
            tenant: tenant, content: content, audience: stored.audience(in: occurrence.zones), origin: origin,
            at: shared.clock.now)
        // An asynchronous event is sent immediately and belongs to its request's trace; other occurrences only link to
        // their request's trace.
        guard
            let recorder = shared.tracer?.recorder(from: stored.origin, continues: schedule.kind == .async)
        else { return await result(of: dispatch) }
        nonisolated(unsafe) let sender = self  // why: confined to the loop that runs the task
        nonisolated(unsafe) var result = OccurrenceResult.over(.failed)  // why: set before it is read
        await recorder.record(on: services.loop) { _ in result = await sender.result(of: dispatch) }
        recorder.finish(
            "schedule", .consumer,
            [.secretHash(schedule.secretHash), .note("kind", schedule.kind.rawValue)],
            isFailed: result.isFailed)
        return result
    }

    nonisolated(nonsending) private func result(of dispatch: Dispatch) async -> OccurrenceResult {
        do throws(APIError) {
            return .over(ScheduleQueue.Outcome(try await send(dispatch).report))
        } catch {
            if let limit = error.limit { services.counts.hit(limit) }
            return OccurrenceResult(error)
        }
    }

    nonisolated(nonsending) private func send(
        _ dispatch: Dispatch
    ) async throws(APIError) -> DispatchResult {
        let started = services.loop.now
        guard !shared.blocked.contains(dispatch.tenant) else { throw APIError(.blocked) }
        if dispatch.origin.isCounted { try shared.rates.countEvent(dispatch.tenant, at: started) }
        let dispatcher = Dispatcher(services: services)
        let devices = try await dispatcher.devices(of: dispatch.tenant)
        var trace = RequestTrace()
        return try await dispatcher.send(dispatch, to: devices, started, &trace)
    }

    /// Whether a schedule is sent after a delay rather than at a given time.
    func isDelay(_ schedule: Schedule) -> Bool { StoredDispatch(json: schedule.content)?.isDelay ?? false }

    /// Records for the sender that a schedule's newest due occurrence was too late.
    ///
    /// Writes one row to the delivery log, regardless of the number of devices.
    func recordMissed(_ schedule: Schedule) {
        guard shared.deliveryLog.kept.includes(isFailed: true) else { return }
        let stored = StoredDispatch(json: schedule.content)
        // Content that this relay can't read is also recorded as missed.
        let content = try? stored?.checked(services.rules, acknowledgedAs: schedule.id.text)
        shared.deliveryLog.append([
            Delivery(
                id: services.makeID().text, secretHash: schedule.secretHash,
                eventType: content?.logType ?? schedule.kind.rawValue, sessionID: content?.sessionID ?? "",
                status: .failed, error: FailureReason.scheduleMissed, createdAt: shared.clock.now,
                deviceID: stored?.deviceID)
        ])
    }
}

extension Schedule {
    /// Whether someone may have seen the occurrence's event; nobody can have seen an `async` event that is sent
    /// immediately.
    fileprivate func hasWaited(until now: EpochMilliseconds) -> Bool {
        kind != .async || dueAt != nextAt || now - nextAt > Bounds.scheduleWaitMax.inMilliseconds
    }
}

extension OccurrenceResult {
    /// Whether something that should have been sent wasn't.
    fileprivate var isFailed: Bool {
        switch self {
        case .over(.sent), .over(.muted), .over(.noDevices), .over(.skipped): false
        case .over, .postponed: true
        }
    }

    /// The result of an occurrence whose dispatch failed: most errors are temporary.
    fileprivate init(_ error: APIError) {
        let seconds = min(
            max(error.retryAfterSeconds ?? 0, Bounds.scheduleRetrySeconds), Bounds.scheduleRetrySecondsMax)
        switch error.code {
        case .blocked: self = .over(.blocked)
        // The dispatch's `eventID` was used for another event.
        case .eventConflict: self = .over(.failed)
        case .rateLimited: self = .postponed(.rateLimited, seconds: seconds)
        case .storageUnavailable: self = .postponed(.storage, seconds: seconds)
        default: self = .postponed(.overloaded, seconds: seconds)
        }
    }
}

extension ScheduleQueue.Outcome {
    /// The outcome of an event's pushes.
    fileprivate init(_ report: DispatchReport) {
        self =
            if report.sent + report.queued > 0 {
                .sent
            } else if report.failed > 0 {
                .failed
            } else if report.muted > 0 {
                .muted
            } else {
                .noDevices
            }
    }
}
