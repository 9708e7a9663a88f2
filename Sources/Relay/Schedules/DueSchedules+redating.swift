import Programs
import Storage

extension DueSchedules {
    /// Corrects the times of schedules whose latest recorded time is in the future.
    func redate(at now: EpochMilliseconds) async throws(StorageError) {
        let storage = services.shared.storage
        let latest = now + Bounds.clockSkewMax.inMilliseconds
        let limit = Bounds.dueCheckRowsPerStep
        while !isStopping {
            let found = try await storage.schedules(writtenAfter: latest, at: now, limit: limit)
            var count = 0
            for schedule in found {
                let redated = schedule.redated(at: now, isDelay: sender.isDelay(schedule))
                if try await storage.redate(schedule, to: redated) { count += 1 }
            }
            if count > 0 { services.shared.log(.warning, "schedules.misdated", [.count("schedules", count)]) }
            // If other relays were faster, nothing is left or the next round handles the rest.
            guard found.count == limit, count > 0 else { return }
        }
    }
}
