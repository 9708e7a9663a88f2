import Network
import Storage

/// Writes the ends of pushes; ``UnwrittenEnds`` decides which ones and how.
extension PushQueue {
    /// Accepts the end of a lease; never waits.
    func end(_ end: End) {
        let isTaken = writer.add { state in
            guard !state.isFinished, state.unwritten.add(end) else { return false }
            state.figures.count(end.settlement.end)
            return true
        }
        guard !isTaken else { return }
        log(.error, "queue.end_lost", [.count("pushes", 1), .secretHash(end.settlement.secretHash)])
    }

    /// Writes ends as they arrive until ``finish()``, then writes the rest and returns.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await self.callForRefused() }
            await writer.run {
                await options.pause(Bounds.endsGatherTime)
            } then: {
                await tryRefusedIfDue()
            } write: { batch in
                await write(batch)
            }
            await writeRefused()
            writer.withBuffer { $0.unwritten.giveUpRefused() }
            noteLost()
            group.cancelAll()
        }
    }

    /// Makes ``run()`` return; later ends are lost, and their pushes are sent again when the leases run out.
    func finish() {
        writer.finish()
        refusal.finish()
    }

    private func write(_ batch: UnwrittenEnds.Batch) async {
        do throws(StorageError) {
            try await store(batch)
        } catch {
            let step = writer.withBuffer { state in
                state.unwritten.failed(batch, error, isEnding: state.isFinished)
            }
            note(error, batch)
            if case .wait(let delay) = step { await options.pause(delay) }
        }
    }

    /// Writes a batch, logs its unlogged rows and removes the registrations that it marks as gone.
    private func store(_ batch: UnwrittenEnds.Batch) async throws(StorageError) {
        let leased = try await storage.settle(batch.ends.map(\.settlement), logging: batch.isLogged)
        let written = writer.withBuffer { state in
            let written = state.unwritten.wrote(batch, leased: leased)
            // Under the same lock, so that at any moment either the queue or the log counts the rows as unwritten.
            deliveryLog.append(written.unlogged)
            return written
        }
        if written.notLeased > 0 { log(.debug, "queue.not_held", [.count("pushes", written.notLeased)]) }
        await remove(written.removals)
        writer.withBuffer { $0.unwritten.removed() }
        writer.withBuffer(\.endsWritten)?()
    }

    private func note(_ error: StorageError, _ batch: UnwrittenEnds.Batch) {
        let fields: [LogField] = [.count("pushes", batch.ends.count), .storageError(error)]
        if error.isTransient {
            log(.warning, "queue.end_delayed", fields)
        } else {
            log(.error, batch.isLogged ? "queue.end_unlogged" : "queue.end_refused", fields)
        }
        noteLost()
    }

    private func noteLost() {
        let lost = writer.withBuffer { $0.unwritten.takeLost() }
        if lost > 0 { log(.error, "queue.end_lost", [.count("pushes", lost)]) }
    }

    /// Removes registrations.
    ///
    /// A removal ends all pushes queued for the device, so the end of the push that caused it must be written first.
    private func remove(_ removals: [End.Removal]) async {
        for removal in removals {
            do throws(StorageError) {
                let bound = removal.device.removalBound(removal.ifNotUpdatedAfter)
                if try await storage.remove(removal.device, ifNotUpdatedAfter: bound, at: removal.at) {
                    guard removal.device.details.tokenKind == nil else { continue }
                    writer.withBuffer { $0.figures.countRemoved(removal.device) }
                }
            } catch {
                log(.warning, "registration.unchanged", [.storageError(error)])
            }
        }
    }

    // MARK: Refused ends

    /// Schedules the next attempt to write refused ends; other ends are written in the meantime.
    private func callForRefused() async {
        for await _ in refusals {
            await options.pause(Bounds.endsRefusedPause)
            guard !Task.isCancelled else { return }
            writer.add { state in
                state.triesRefused = true
                return true
            }
        }
    }

    private func tryRefusedIfDue() async {
        let isDue = writer.withBuffer { state in
            defer { state.triesRefused = false }
            return state.triesRefused
        }
        if isDue { await writeRefused() }
        if writer.withBuffer(\.unwritten.refusedCount) > 0 { refusal.yield() }
    }

    /// Tries to write each refused end on its own until the round's limit of refusals is reached.
    private func writeRefused() async {
        var left = writer.withBuffer(\.unwritten.refusedCount)
        var refusals = 0
        while left > 0, refusals < Bounds.endsRefusedPerRound,
            let batch = writer.withBuffer({ $0.unwritten.nextRefused() })
        {
            left -= 1
            do throws(StorageError) {
                try await store(batch)
            } catch {
                writer.withBuffer { $0.unwritten.failedAgain(batch) }
                refusals += 1
                guard !error.isTransient else { return }
            }
        }
    }
}
