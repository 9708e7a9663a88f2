import Glibc
import Storage

/// Looks at the database and changes nothing in it.
enum DatabaseCheck {
    /// What was found.
    struct Found: Sendable {
        var findings: [CheckFinding]
        /// The server's clock.
        var clock: ClockCheck.Reading?
    }

    /// Connects, looks at the schema, and tries a write that is taken back.
    static func run(_ database: DatabaseURL, options: ServerOptions, clock: WallClock) async -> Found {
        let place = OpenStorage.description(of: database)
        var options = options
        options.callTimeout = min(options.callTimeout, Bounds.checkStepDeadline)
        var generator = IDGenerator()
        let id = UUIDv7(at: clock.now, using: &generator)
        let began = ContinuousClock.now
        do throws(StorageError) {
            let inspection = try await OpenStorage.inspection(
                of: database, options: options, id: id, clock: clock)
            let time = (ContinuousClock.now - began).inMilliseconds
            let reading = inspection.clock.map {
                ClockCheck.Reading(name: "the database server", server: $0.server, local: $0.local)
            }
            return Found(findings: findings(inspection, place: place, milliseconds: time), clock: reading)
        } catch {
            return Found(findings: [finding(error, place: place, database.engine)])
        }
    }

    /// What an inspection means.
    static func findings(
        _ inspection: DatabaseInspection, place: String, milliseconds: Int64
    ) -> [CheckFinding] {
        let missing = inspection.missingSteps
        let isNew = missing.count == SchemaStep.allCases.count
        var findings: [CheckFinding] = []
        if isNew {
            findings.append(
                .ok(.database, place, "reached; it has no tables of this relay yet, which relay serve makes"))
        } else if let first = missing.first {
            let text = "its schema is version \(first.rawValue - 1), this relay needs \(SchemaStep.current)"
            findings.append(.fault(.schemaOlder, .database, place, text))
        } else {
            findings.append(
                .ok(.database, place, "read in \(milliseconds) ms, schema version \(SchemaStep.current)"))
        }
        switch inspection.write {
        case .done: findings.append(.ok(.database, "write", "done, and taken back"))
        case .heldBy(let process):
            findings.append(
                .ok(.database, "write", "a relay (process \(process)) has the file: writes are its own"))
        case .failed(let error): findings.append(finding(error, place: "write", nil))
        case .notTried: break
        }
        if inspection.hasDevices == false {
            findings.append(.fault(.noDevices, .database, "devices", "none is registered"))
        }
        return findings
    }

    /// What a storage error means to the operator.
    static func finding(_ error: StorageError, place: String, _ engine: DatabaseEngine?) -> CheckFinding {
        let fault: CheckFault =
            switch error {
            case .unavailable: engine == .sqlite ? .databaseFolder : .databaseUnreachable
            case .timeout: .databaseSilent
            case .refused: .databaseRefused
            case .full: .databaseFull
            case .readOnly, .inUse: .databaseReadOnly
            case .schemaTooNew: .schemaNewer
            case .schemaTooOld: .schemaOlder
            case .corrupt, .foreignDatabase, .unfinishedCopy, .invalidValue, .closed, .internalFault:
                .databaseUnusable
            }
        return .fault(fault, .database, place, error.logDetail)
    }
}

/// Looks at the room on the disk that a database's file is on.
enum DiskCheck {
    /// The room above its bounds, or not; nothing for a path whose folder isn't there.
    static func findings(path: String) -> [CheckFinding] {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return [] }
        let free = Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
        // File systems that count no inodes say that they have none.
        let hasInodes = status.f_files == 0 || status.f_favail > 0
        return [finding(free: free, hasInodes: hasInodes, folder: folder)]
    }

    /// What the free room means.
    static func finding(free: Int64, hasInodes: Bool, folder: String) -> CheckFinding {
        let room = "\(free / 1_048_576) MiB free"
        if !hasInodes {
            return .fault(.diskFull, .disk, folder, "no further file can be made (no inode is free)")
        }
        if free < Bounds.checkDiskBytesMin { return .fault(.diskFull, .disk, folder, room) }
        if free < Bounds.checkDiskBytesNoticed { return .fault(.diskLow, .disk, folder, room) }
        return .ok(.disk, folder, room)
    }
}
