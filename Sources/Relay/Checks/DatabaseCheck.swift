import Glibc
import Network
import Programs
import Storage

/// Checks the database without changing it.
enum DatabaseCheck {
    /// The findings.
    struct Found: Sendable {
        let place: String
        let engine: DatabaseEngine
        let outcome: Result<DatabaseInspection, StorageError>
        /// How long the inspection took.
        var milliseconds: Int64 = 0

        /// The server's clock.
        var clock: ClockCheck.Reading? {
            guard case .success(let inspection) = outcome else { return nil }
            return inspection.clock.map {
                ClockCheck.Reading(
                    name: "the database server", server: $0.server, local: $0.local,
                    skewMax: Bounds.clockSkewMax)
            }
        }

        /// Whether the database could be read.
        var isReadable: Bool {
            if case .success = outcome { true } else { false }
        }
    }

    /// An inspection of a database, run once for all callers.
    struct Look: Sendable {
        let database: DatabaseURL
        let options: ServerOptions
        let clock: WallClock
        private let answer = SharedAnswer<Found>()

        init(_ database: DatabaseURL, options: ServerOptions, clock: WallClock) {
            self.database = database
            self.options = options
            self.clock = clock
        }

        /// Connects, inspects the schema, and tries a write that is rolled back.
        func found() async -> Found {
            await answer.value(at: .current, lifetime: Bounds.checkDeadline) { await look() }
        }

        private func look() async -> Found {
            let place = OpenStorage.description(of: database)
            var options = options
            options.callTimeout = min(options.callTimeout, Bounds.checkStepDeadline)
            var generator = IDGenerator()
            let id = UUIDv7(at: clock.now, using: &generator)
            let began = ContinuousClock.now
            do throws(StorageError) {
                let inspection = try await OpenStorage.inspection(
                    of: database, options: options, id: id, clock: clock)
                return Found(
                    place: place, engine: database.engine, outcome: .success(inspection),
                    milliseconds: (ContinuousClock.now - began).inMilliseconds)
            } catch {
                return Found(place: place, engine: database.engine, outcome: .failure(error))
            }
        }
    }

    static func finding(_ error: StorageError, place: String, _ engine: DatabaseEngine?) -> CheckFinding {
        let fault: CheckFault =
            switch error {
            case .unavailable: engine == .sqlite ? .databaseFolder : .databaseUnreachable
            case .crowded: .databaseCrowded
            case .timeout, .unconfirmed: .databaseSilent
            case .refused: .databaseRefused
            case .unsuitable: .databaseUnsuitable
            case .denied: .databaseDenied
            case .full: .databaseFull
            case .readOnly: .databaseReadOnly
            case .inUse: .databaseInUse
            case .schemaTooNew: .schemaNewer
            case .schemaTooOld: .schemaOlder
            case .corrupt, .foreignDatabase, .unfinishedCopy, .invalidValue, .closed, .internalFault:
                .databaseUnusable
            }
        return .fault(fault, .database, place, error.logDetail)
    }
}

extension DatabaseCheck.Found {
    /// Whether `relay serve` can open the database.
    ///
    /// A file that another process uses is fine if a relay answers here; otherwise, the finding is a warning.
    func openingFindings(relayRuns: Bool) -> [CheckFinding] {
        switch outcome {
        case .failure(let error): return [DatabaseCheck.finding(error, place: place, engine)]
        case .success(let inspection):
            guard case .heldBy(let process) = inspection.write, !relayRuns else { return schema(inspection) }
            return schema(inspection) + [
                .fault(
                    .databaseInUse, .database, "write",
                    "process \(process) has the file open, but no relay answers here", status: .warning)
            ]
        }
    }

    /// The result of the trial write, and whether any device is registered.
    var writeFindings: [CheckFinding] {
        guard case .success(let inspection) = outcome else { return [] }
        var findings: [CheckFinding] = []
        switch inspection.write {
        case .done: findings.append(.ok(.database, "write", "succeeded (rolled back)"))
        case .heldBy(let process):
            findings.append(
                .ok(.database, "write", "a relay (process \(process)) has the file open; only it can write"))
        case .failed(let error): findings.append(DatabaseCheck.finding(error, place: "write", engine))
        case .notTried: break
        }
        if inspection.hasDevices == false {
            findings.append(.fault(.noDevices, .database, "devices", "none is registered"))
        }
        return findings
    }

    private func schema(_ inspection: DatabaseInspection) -> [CheckFinding] {
        let missing = inspection.missingSteps
        if missing.count == SchemaStep.allCases.count {
            return [
                .ok(.database, place, "reached; it has no relay tables yet, relay serve creates them")
            ]
        }
        if let first = missing.first {
            let text = "its schema is version \(first.rawValue - 1), this relay needs \(SchemaStep.current)"
            return [.fault(.schemaOlder, .database, place, text)]
        }
        return [.ok(.database, place, "read in \(milliseconds) ms, schema version \(SchemaStep.current)")]
    }
}

/// Checks the free disk space for a database file.
enum DiskCheck {
    /// Whether there is enough free space; no findings if the file's directory doesn't exist.
    static func findings(path: String) -> [CheckFinding] {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return [] }
        let free = Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
        // File systems without inode counts report zero.
        let hasInodes = status.f_files == 0 || status.f_favail > 0
        return [finding(free: free, hasInodes: hasInodes, folder: folder)]
    }

    /// The finding for an amount of free space.
    static func finding(free: Int64, hasInodes: Bool, folder: String) -> CheckFinding {
        let room = "\(free / 1_048_576) MiB free"
        if !hasInodes {
            return .fault(.diskFull, .disk, folder, "no file can be created (no free inodes)")
        }
        if free < Bounds.checkDiskBytesMin { return .fault(.diskFull, .disk, folder, room) }
        if free < Bounds.checkDiskBytesNoticed { return .fault(.diskLow, .disk, folder, room) }
        return .ok(.disk, folder, room)
    }
}
