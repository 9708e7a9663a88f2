import Delays
import Network
import Programs
import Storage

/// Sends an event once, however often it is requested.
extension Dispatcher {
    /// A claim on an event ID, and the result of the claim.
    struct Claimed: Sendable {
        let claim: EventClaim
        let result: Result<EventClaimResult, StorageError>
    }

    /// Delivers the dispatch, or returns the result of another one with the same `eventID` that is being or was
    /// delivered.
    ///
    /// - Parameter claimed: The first claim, if it was made together with others.
    func once(
        _ receiptID: String, _ dispatch: Dispatch, to devices: [Device], claimed: Claimed?,
        _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> DispatchResult {
        var backOff = Bounds.claimPollBackOff
        var (devices, claimed) = (devices, claimed)
        while true {
            // Each attempt creates its own claim, so that a late claim lasts as long as an immediate one.
            let claim = claimed?.claim ?? claim(receiptID, dispatch)
            let result: EventClaimResult
            do throws(StorageError) {
                if let claimed {
                    result = try claimed.result.get()
                } else {
                    result = try await shared.storage.claim(claim)
                }
            } catch {
                throw APIError(error)
            }
            claimed = nil
            switch result {
            case .claimed:
                return try await deliverClaimed(claim, dispatch, to: devices, started, &trace)
            case .answered(let response):
                trace.add(.count("repeated", 1))
                return DispatchResult(stored: response)
            case .conflict:
                throw APIError(.eventConflict, field: .eventID)
            case .inProgress:
                let waited = services.loop.now.since(started)
                // The other request may use all of its time and then has to store its response.
                let limits = shared.limits
                guard waited < limits.eventDeadline + limits.claimWaitMargin, !Task.isCancelled else {
                    throw APIError(
                        .overloaded, retryAfterSeconds: Bounds.claimRetryAfterSeconds,
                        logDetail: "another request is still processing this eventID")
                }
                await services.loop.pause(backOff.next())
                devices = try await self.devices(of: dispatch.tenant)
            }
        }
    }

    /// Claims the event IDs of several dispatches with one statement; returns the claims by the dispatches' positions.
    func claim(_ dispatches: [Int: Dispatch]) async -> [Int: Claimed] {
        let claims = dispatches.compactMapValues { dispatch in
            dispatch.origin.receiptID.map { claim($0, dispatch) }
        }
        guard !claims.isEmpty else { return [:] }
        let positions = claims.keys.sorted()
        var results: [Result<EventClaimResult, StorageError>]
        do throws(StorageError) {
            results = try await shared.storage.claim(positions.compactMap { claims[$0] })
        } catch {
            results = positions.map { _ in .failure(error) }
        }
        let claimed = zip(positions, results).compactMap { position, result in
            claims[position].map { (position, Claimed(claim: $0, result: result)) }
        }
        return Dictionary(uniqueKeysWithValues: claimed)
    }

    private func claim(_ receiptID: String, _ dispatch: Dispatch) -> EventClaim {
        let now = shared.clock.now
        let lease = shared.limits.eventDeadline + shared.limits.claimLeaseMargin
        return EventClaim(
            id: services.makeID(), key: dispatch.tenant, eventID: receiptID, content: dispatch.digest,
            actions: dispatch.actions, at: now, leaseUntil: now + lease.inMilliseconds)
    }

    private func deliverClaimed(
        _ claim: EventClaim, _ dispatch: Dispatch, to devices: [Device], _ started: MonotonicTime,
        _ trace: inout RequestTrace
    ) async throws(APIError) -> DispatchResult {
        let result: DispatchResult
        do throws(APIError) {
            if let repetition = dispatch.origin.repetition {
                try await startRepeating(dispatch, claim.eventID, repetition)
            }
            result = try await deliver(dispatch, to: devices, started, &trace)
        } catch {
            // Nothing was sent, so the caller's next attempt must find the event unclaimed, and no repetition may be
            // sent later.
            if dispatch.origin.repetition != nil {
                await services.stopRepeating(EventName(claim.eventID, of: dispatch.tenant))
            }
            do throws(StorageError) {
                try await shared.storage.release(claim)
            } catch {
                shared.log(.warning, "receipt.not_released", [.storageError(error)])
            }
            throw error
        }
        // Pushes were sent, so the caller gets this response even if the receipt can't be stored.
        await keep(result.response, of: claim)
        return result
    }

    /// Stores the response for later requests with the same `eventID`; retries don't delay the caller.
    private func keep(_ response: [UInt8], of claim: EventClaim) async {
        guard let failure = await failureOfKeeping(response, of: claim) else { return }
        guard failure.canBeCured, services.receiptsRetried < Bounds.receiptsRetriedMax else {
            return noteNotKept(claim, failure)
        }
        services.receiptsRetried += 1
        nonisolated(unsafe) let dispatcher = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            await dispatcher.keepTrying(response, of: claim)
            dispatcher.services.receiptsRetried -= 1
        }
    }

    /// Retries storing the response: without it, the event could be sent again once the database recovers.
    private func keepTrying(_ response: [UInt8], of claim: EventClaim) async {
        let end = services.loop.now + Bounds.receiptRetryTime
        var backOff = Bounds.receiptBackOff
        while true {
            await services.loop.pause(backOff.next())
            guard let failure = await failureOfKeeping(response, of: claim) else { return }
            guard failure.canBeCured, services.loop.now < end else { return noteNotKept(claim, failure) }
        }
    }

    private func failureOfKeeping(_ response: [UInt8], of claim: EventClaim) async -> StorageError? {
        do throws(StorageError) {
            if try await !shared.storage.complete(claim, answer: response) {
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
}
