import JSON
import Network
import Storage
import Testing

@testable import Relay

/// Schedules, and a worker that sends them.
extension RelayFixture {
    /// The stored schedules.
    var schedules: [Schedule] { storage.state.withLock { $0.schedules.map(\.schedule) } }

    /// The counted outcomes.
    var outcomes: [String: UInt64] {
        get async {
            let counts = await onLoop { $0.services.shared.schedules.figures.outcomes }
            return Dictionary(
                uniqueKeysWithValues: zip(ScheduleQueue.Outcome.allCases.map(\.rawValue), counts)
                    .filter { $0.1 > 0 })
        }
    }

    /// Schedules a notification.
    @discardableResult
    func schedule(
        kind: ScheduleKind = .schedule, rule: String? = nil, dueIn: EpochMilliseconds = 0,
        deviceID: String? = nil, content: String? = nil
    ) async throws -> Schedule {
        let body: JSON.Value = ["notification": ["title": "Later"]]
        var stored = StoredDispatch(StoredContent(target: .notify, body: try #require(body.object)))
        stored.deviceID = deviceID
        let content = content ?? stored.json
        let schedule = await onLoop { confined in
            Schedule(
                id: confined.services.makeID(), secretHash: Self.key.primary, kind: kind, rule: rule,
                content: content, nextAt: Self.start + dueIn, lateBy: 3_600_000, createdAt: Self.start)
        }
        let queue = await onLoop { $0.services.shared.schedules }
        #expect(try await queue.create(schedule, under: Self.key, limit: 1_000) == .created)
        return schedule
    }

    /// Runs a worker for schedules on the fixture's loop during `body`.
    func withScheduleWorker(
        _ body: (LoopBound<DueWorker>) async throws -> Void
    ) async throws {
        let worker = await loop.run { loop in
            let services = services.value
            return LoopBound(DueWorker(DueSchedules(on: services), on: services), on: loop)
        }
        await loop.run { _ in worker.value.start() }
        let result: Result<Void, any Error>
        do { result = .success(try await body(worker)) } catch { result = .failure(error) }
        await loop.run { _ in await worker.value.stop(within: .seconds(30)) }
        try result.get()
    }
}
