import Network
import Storage

@testable import Relay

/// A worker for the fixture's queue, and the pushes that it finds there.
extension RelayFixture {
    /// The fixture's time until a test moves it.
    static let start: EpochMilliseconds = 1_800_000_000_000

    /// Runs a worker on the fixture's loop; `body` stops it, or this method does.
    func withWorker(
        inFlight: Int = 100, unwritten: Int = 500, pace: ClaimPace = ClaimPace(),
        _ body: (LoopBound<DueWorker>) async throws -> Void
    ) async throws {
        let budget = RetryBudget(inFlightMax: inFlight, perDestinationMin: 1, unwrittenMax: unwritten)
        let worker = await loop.run { loop in
            let pushes = DuePushes(on: services.value, budget: budget, pace: pace)
            return LoopBound(DueWorker(pushes, on: services.value), on: loop)
        }
        await loop.run { _ in worker.value.start() }
        let result: Result<Void, any Error>
        do { result = .success(try await body(worker)) } catch { result = .failure(error) }
        await stop(worker)
        try result.get()
    }

    func stop(_ worker: LoopBound<DueWorker>) async {
        await worker.loop.run { _ in await worker.value.stop(within: .seconds(30)) }
    }

    /// A push for a device as it is stored in the queue.
    static func waiting(
        for device: Device, id: String? = nil, attempts: Int = 1, dueIn: EpochMilliseconds = 0,
        expiresIn: EpochMilliseconds = 60_000
    ) -> PendingPush {
        PendingPush(
            id: id ?? "push-\(device.token)", secretHash: device.secretHash, deviceID: device.id,
            eventType: "error", sessionID: "ses_9", payload: Array(#"{"aps":{}}"#.utf8),
            pushType: "background", priority: 5, collapseID: "c", attempts: attempts,
            dueAt: start + dueIn, createdAt: start, expiresAt: start + expiresIn)
    }

    /// Adds pushes for devices to the queue.
    func fill(
        _ tokens: [String], attempts: Int = 1, dueIn: EpochMilliseconds = 0,
        expiresIn: EpochMilliseconds = 60_000
    ) {
        storage.state.withLock { state in
            let devices = state.devices
            state.insert(
                tokens.compactMap { token in
                    guard let device = devices.first(where: { $0.token == token }) else { return nil }
                    let push = Self.waiting(
                        for: device, attempts: attempts, dueIn: dueIn, expiresIn: expiresIn)
                    return FakeStorage.Pending(push: push)
                })
        }
    }
}
