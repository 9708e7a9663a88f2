import Network
import Testing

@testable import Storage

// The rows that tests inspect and prepare.
extension FakeStorage {
    /// A waiting push, and the lease under which it is held.
    struct Pending {
        var push: PendingPush
        var lease: PushLease?

        var dueAt: EpochMilliseconds { lease?.until ?? push.dueAt }
    }

    struct StoredReceipt {
        let eventID: String
        let leaseUntil: EpochMilliseconds
        let answer: [UInt8]?
    }

    struct StoredSchedule {
        var schedule: Schedule
        var lease: PushLease?
    }
}

extension FakeStorage.State {
    /// The devices, oldest first.
    var devices: [Device] {
        get {
            rows("SELECT \(Device.columns) FROM device_registration ORDER BY created_at, length(id), id") {
                row throws(SQLFailure) in try Device(row)
            }
        }
        set {
            replace("device_registration", "id", [])
            insert(newValue)
        }
    }

    func device(_ token: String, under key: SecretKey) -> Device? {
        let condition = "secret_hash = ? AND device_token = ?"
        return rows(
            "SELECT \(Device.columns) FROM device_registration WHERE \(condition)",
            [.hash(key.primary), .text(token)]
        ) { row throws(SQLFailure) in try Device(row) }.first
    }

    var deviceCount: Int {
        memory.look { session throws(SQLFailure) in
            try session.count("SELECT count(*) FROM device_registration", [])
        }
    }

    func insert(_ devices: [Device]) {
        insert(
            "device_registration", Device.columns,
            devices.map { device in
                let details = device.details
                return [
                    .text(device.id), .hash(device.secretHash), .text(device.token), .text(device.bundleID),
                    .text(device.environment.rawValue), .integer(device.createdAt),
                    .integer(device.updatedAt), .text(details.deviceName), .text(details.deviceModel),
                    .text(details.osVersion), .text(details.appVersion), .text(details.preferences),
                    .text(details.sealedVersions), .text(details.installationID), .text(details.webPush),
                ]
            })
    }

    /// The delivery log's pushes, in the order in which they ended.
    var deliveries: [Delivery] {
        get {
            let rows = memory.rows(of: "delivery_log") { session, key throws(SQLFailure) in
                try session.deliveries(of: key, before: nil, limit: .max)
            }
            return rows.flatMap(\.singles).sorted {
                ($0.createdAt, $0.id.utf8.count, $0.id) < ($1.createdAt, $1.id.utf8.count, $1.id)
            }
        }
        set {
            replace("delivery_log", "id", [])
            memory.change { session throws(SQLFailure) in try session.append(newValue, isRepeated: false) }
        }
    }

    /// The queued pushes, in the order in which they were created.
    var pending: [FakeStorage.Pending] {
        get {
            let columns = SQLStatements.pushColumns.joined(separator: ", ")
            return rows("SELECT \(columns) FROM pending_push ORDER BY created_at, length(id), id") {
                row throws(SQLFailure) in
                let push = try PendingPush(row)
                let owner = try row.optionalText(11).flatMap { UUIDv7($0) }
                return FakeStorage.Pending(
                    push: push, lease: owner.map { PushLease(owner: $0, until: push.dueAt) })
            }
        }
        set {
            replace("pending_push", "id", [])
            insert(newValue)
        }
    }

    func insert(_ pushes: [FakeStorage.Pending]) {
        let columns = SQLStatements.pushColumns.joined(separator: ", ")
        insert(
            "pending_push", columns,
            pushes.map { row in
                let push = row.push
                return [
                    .hash(push.secretHash), .text(push.id), .text(push.deviceID), .text(push.eventType),
                    .text(push.sessionID), .blob(push.payload), .text(push.pushType),
                    .integer(Int64(push.priority)), .text(push.collapseID),
                    .integer(Int64(push.attempts)),
                    .integer(row.dueAt), .text(row.lease?.owner.text), .integer(push.createdAt),
                    .integer(push.expiresAt), .integer(Int64(push.secretHash.bucket)),
                    .text(push.eventID),
                    .text(push.kind),
                ]
            })
    }

    var receipts: [FakeStorage.StoredReceipt] {
        get {
            rows("SELECT event_id, lease_until, answer FROM event_receipt") { row throws(SQLFailure) in
                FakeStorage.StoredReceipt(
                    eventID: try row.text(0), leaseUntil: try row.integer(1),
                    answer: row.isNull(2) ? nil : try row.blob(2))
            }
        }
        set { replace("event_receipt", "event_id", newValue.map { [.text($0.eventID)] }) }
    }

    /// The last uses by agents, by secret.
    var agentUses: [SecretHash: AgentUse] {
        let uses = rows("SELECT secret_hash, used_at, client FROM agent_use") { row throws(SQLFailure) in
            (try row.hash(0), AgentUse(usedAt: try row.integer(1), client: try row.optionalText(2)))
        }
        return Dictionary(uniqueKeysWithValues: uses)
    }

    /// The schedules; setting them changes the rows' times and outcome.
    var schedules: [FakeStorage.StoredSchedule] {
        get {
            rows("SELECT \(SQLSession.scheduleColumns) FROM schedule ORDER BY created_at, id") {
                row throws(SQLFailure) in
                let row = try ScheduleRow(row)
                let owner = row.leaseOwner.flatMap { UUIDv7($0) }
                return FakeStorage.StoredSchedule(
                    schedule: row.schedule, lease: owner.map { PushLease(owner: $0, until: row.leaseUntil) })
            }
        }
        set {
            memory.change { session throws(SQLFailure) in
                for schedule in newValue.map(\.schedule) {
                    _ = try session.execute(
                        "UPDATE schedule SET due_at = ?, last_at = ?, last_outcome = ? WHERE id = ?",
                        [
                            .integer(schedule.dueAt), schedule.lastAt.map { .integer($0) } ?? .null,
                            .text(schedule.lastOutcome), .text(schedule.id.text),
                        ])
                }
            }
        }
    }

    /// The push tokens other than the devices' own.
    var tokens: [PushToken] {
        PushTokenKind.allCases.flatMap { kind in
            memory.rows(of: "push_token") { session, key throws(SQLFailure) in
                try session.tokens(kind, of: key, at: 0)
            }
        }
    }

    /// The activities whose end is queued.
    var ended: [PushToken] { tokens.filter(\.hasEnded) }

    /// The histories of all secrets, oldest item first.
    var history: [HistoryItem] {
        get {
            let items = memory.rows(of: "history_item") { session, key throws(SQLFailure) in
                try session.history(of: key, before: nil, limit: .max).items
            }
            return items.sorted { $0.id < $1.id }
        }
        set {
            let columns = """
                id, secret_hash, event_id, event_type, session_id, server_id, created_at, read_at, title, body, sealed,
                acked_at
                """
            replace(
                "history_item", columns,
                newValue.map { item in
                    [
                        .text(item.id.text), .hash(item.secretHash), .text(item.eventID),
                        .text(item.eventType),
                        .text(item.sessionID), .text(item.serverID), .integer(item.createdAt),
                        item.readAt.map { .integer($0) } ?? .null, .text(item.title), .text(item.body),
                        .text(item.sealed), item.acknowledgedAt.map { .integer($0) } ?? .null,
                    ]
                })
        }
    }

    var blocked: [BlockedSecret] {
        get {
            memory.look { session throws(SQLFailure) in try session.blockedSecrets(limit: .max) }
        }
        set {
            replace(
                "blocked_secret", "secret_hash, created_at, note",
                newValue.map {
                    [.hash($0.secretHash), .integer($0.createdAt), .text($0.note)]
                })
        }
    }

    /// The IDs of the acknowledged events.
    var acknowledgements: [String] {
        rows("SELECT event_id FROM event_reply") { row throws(SQLFailure) in try row.text(0) }
    }

    func acknowledge(_ eventID: String, under key: SecretKey, at time: EpochMilliseconds) {
        let columns = "secret_hash, event_id, acked_at, expires_at"
        insert(
            "event_reply", columns,
            [[.hash(key.primary), .text(eventID), .integer(time), .integer(.max)]])
    }

    /// The keys that relays share.
    var relayKeys: [String: String] {
        get {
            let keys = rows("SELECT name, text FROM relay_key") { row throws(SQLFailure) in
                (try row.text(0), try row.text(1))
            }
            return Dictionary(uniqueKeysWithValues: keys)
        }
        set {
            replace("relay_key", "name", [])
            memory.change { session throws(SQLFailure) in
                for (name, text) in newValue { _ = try session.relayKey(name, orStoring: text, at: 0) }
            }
        }
    }

    /// Moves every device and queued push to another hash, as changing the pepper does.
    mutating func movePending(to hash: SecretHash) {
        memory.change { session throws(SQLFailure) in
            _ = try session.execute("UPDATE device_registration SET secret_hash = ?", [.hash(hash)])
            _ = try session.execute(
                "UPDATE pending_push SET secret_hash = ?, bucket = ?",
                [.hash(hash), .integer(Int64(hash.bucket))])
        }
    }

    private func rows<Row>(
        _ sql: String, _ parameters: [SQLValue] = [], _ row: (SQLRow) throws(SQLFailure) -> Row
    ) -> [Row] {
        memory.look { session throws(SQLFailure) in
            try session.rows(sql, parameters).map { columns throws(SQLFailure) in try row(SQLRow(columns)) }
        }
    }

    private func replace(_ table: String, _ columns: String, _ rows: [[SQLValue]]) {
        memory.change { session throws(SQLFailure) in _ = try session.execute("DELETE FROM \(table)", []) }
        insert(table, columns, rows)
    }

    private func insert(_ table: String, _ columns: String, _ rows: [[SQLValue]]) {
        memory.change { session throws(SQLFailure) in
            for values in rows {
                let places = Array(repeating: "?", count: values.count).joined(separator: ", ")
                _ = try session.execute("INSERT INTO \(table) (\(columns)) VALUES (\(places))", values)
            }
        }
    }
}

extension MemoryStorage {
    /// Changes rows; the test fails if they can't be stored.
    fileprivate func change(_ body: (SQLSession) throws(SQLFailure) -> Void) {
        do throws(StorageError) {
            try run(body)
        } catch {
            Issue.record("\(error.logDetail)")
        }
    }

    /// Reads rows, which can't fail.
    fileprivate func look<Output>(_ body: (SQLSession) throws(SQLFailure) -> Output) -> Output {
        do throws(StorageError) {
            return try run(body)
        } catch {
            preconditionFailure("\(error.logDetail)")
        }
    }

    /// The results of a look-up for each secret that has rows in a table.
    fileprivate func rows<Row>(
        of table: String, _ look: (SQLSession, SecretKey) throws(SQLFailure) -> [Row]
    ) -> [Row] {
        self.look { session throws(SQLFailure) in
            var found: [Row] = []
            for columns in try session.rows("SELECT DISTINCT secret_hash FROM \(table)") {
                found += try look(session, SecretKey(primary: try SQLRow(columns).hash(0)))
            }
            return found
        }
    }
}
