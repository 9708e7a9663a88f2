/// The secrets' tokens other than their devices' own.
extension SQLSession {
    func save(_ token: PushToken, _ key: SecretKey) throws(SQLFailure) -> Bool {
        // Checked before locking, because locking leaves a lock row even for an unknown secret.
        guard try hasDevice(key) else { return false }
        return try transaction { () throws(SQLFailure) in
            // Locked, so that concurrent calls neither exceed the limit nor store two tokens for one device.
            try lock(key.primary)
            guard try hasDevice(key) else { return false }
            guard try !isReplaced(token, under: key.primary) else { return true }
            let place = Self.place(of: token, under: key.primary)
            let replaced = try removeReplaced(token, under: key.primary)
            try noteReplaced(replaced, by: token, under: key.primary)
            let updated = try execute(
                """
                UPDATE push_token
                SET device_id = coalesce(?, device_id), bundle_id = ?, apns_env = ?, attributes_type = ?,
                    updated_at = CASE WHEN updated_at >= ? THEN updated_at + 1 ELSE ? END, expires_at = ?
                WHERE \(Self.isAtPlace)
                """,
                [
                    .text(token.deviceID), .text(token.bundleID), .text(token.environment.rawValue),
                    .text(token.attributesType), .integer(token.updatedAt), .integer(token.updatedAt),
                    .integer(token.expiresAt),
                ] + place)
            guard updated == 0 else { return true }
            try insert(replaced.isEmpty ? token : token.succeeding(replaced), key.primary)
            if token.kind == .activity { try removeOldest(key.primary, at: token.createdAt) }
            return true
        }
    }

    func removeTokens(
        _ kind: PushTokenKind, session: String, token: String?, device: String?, _ key: SecretKey
    ) throws(SQLFailure) -> Int {
        var sql =
            "DELETE FROM push_token WHERE secret_hash IN (\(SQLStatements.anyHash)) AND kind = ? AND session_id = ?"
        var values: [SQLValue] = .anyHash(of: key) + [.text(kind.rawValue), .text(session)]
        if let token {
            sql += " AND token = ?"
            values.append(.text(token))
        }
        if let device {
            sql += " AND device_id = ?"
            values.append(.text(device))
        }
        return try execute(sql, values)
    }

    func tokens(
        _ kind: PushTokenKind, of key: SecretKey, at now: EpochMilliseconds
    ) throws(SQLFailure) -> [PushToken] {
        try rows(
            "kind = ? AND (expires_at IS NULL OR expires_at > ?)", [.text(kind.rawValue), .integer(now)], key)
    }

    func releaseStarts(_ starts: [PushToken], _ sessionID: String) throws(SQLFailure) {
        try transaction { () throws(SQLFailure) in
            for start in starts.sorted(by: { $0.id < $1.id }) {
                _ = try execute(
                    "DELETE FROM push_token WHERE \(Self.isAtPlace)",
                    [
                        .hash(start.secretHash), .text(PushTokenKind.startedColumn), .text(sessionID),
                        .text(start.deviceID),
                    ])
            }
        }
    }

    func endActivities(sent: [PushToken], queued: [PushToken]) throws(SQLFailure) {
        try transaction { () throws(SQLFailure) in
            for token in sent.sorted(by: { $0.id < $1.id }) {
                _ = try execute(
                    "DELETE FROM push_token WHERE \(Self.isAtPlace) AND id = ?",
                    Self.place(of: token, under: token.secretHash) + [.text(token.id)])
            }
            for token in queued.sorted(by: { $0.id < $1.id }) {
                _ = try execute(
                    "UPDATE push_token SET ended = 1 WHERE \(Self.isAtPlace) AND id = ?",
                    Self.place(of: token, under: token.secretHash) + [.text(token.id)])
            }
        }
    }
}

// MARK: - Parts of other calls

extension SQLSession {
    /// The token with the given ID; nil if there is none or this program can't read it.
    func token(id: String, _ hash: SecretHash) throws(SQLFailure) -> PushToken? {
        try rows("id = ?", [.text(id)], SecretKey(primary: hash)).first
    }

    /// Removes the tokens of a device that is being removed; their queued pushes end when they are claimed.
    func removeTokens(ofDevice device: String, _ hash: SecretHash) throws(SQLFailure) {
        _ = try execute(
            "DELETE FROM push_token WHERE secret_hash = ? AND device_id = ?", [.hash(hash), .text(device)])
    }

    /// Moves a secret's tokens to another hash; tokens already stored there stay unchanged.
    ///
    /// - Parameter devices: For each dropped device, the ID of the device that replaces it.
    func moveTokens(
        from old: SecretHash, to new: SecretHash, replacing devices: [String: String]
    ) throws(SQLFailure) {
        let columns = PushToken.columns.joined(separator: ", ")
        var found: [[SQLValue]] = try rows(
            "SELECT \(columns) FROM push_token WHERE secret_hash = ?", [.hash(old)])
        guard !found.isEmpty else { return }
        _ = try execute("DELETE FROM push_token WHERE secret_hash = ?", [.hash(old)])
        for index in found.indices {
            found[index][0] = .hash(new)
            if case .text(let device) = found[index][5], let kept = devices[device] {
                found[index][5] = .text(kept)
            }
            _ = try execute(PushToken.insertion(dialect), found[index])
        }
    }
}

// MARK: - Activities

extension SQLSession {
    /// Whether a state may affect a secret's activities; checked before locking anything.
    func mayTake(_ state: ActivityState, _ key: SecretKey) throws(SQLFailure) -> Bool {
        var kinds = [PushTokenKind.activity.rawValue]
        if state.isStarting { kinds.append(PushTokenKind.start.rawValue) }
        for kind in kinds {
            let session = kind == PushTokenKind.activity.rawValue ? state.sessionID : ""
            let sql = """
                SELECT created_at FROM push_token
                WHERE secret_hash IN (\(SQLStatements.anyHash)) AND kind = ? AND session_id = ? LIMIT 1
                """
            if try integer(sql, .anyHash(of: key) + [.text(kind), .text(session)]) != nil { return true }
        }
        return false
    }

    func take(_ state: ActivityState, _ key: SecretKey) throws(SQLFailure) -> ActivityTurn {
        try transaction { () throws(SQLFailure) in
            // Locked, so that two relays neither start an activity twice nor send two states with the same stamp.
            try lock(key.primary)
            let activities = try rows(
                "kind = ? AND session_id = ? AND expires_at > ? AND ended = 0",
                [.text(PushTokenKind.activity.rawValue), .text(state.sessionID), .integer(state.now)], key)
            var turn = ActivityTurn(of: state, among: activities)
            for activity in turn.updates { try stamp(activity) }
            guard state.isStarting, activities.allSatisfy({ $0.deviceID != nil }) else { return turn }
            for start in try tokens(.start, of: key, at: state.now) {
                guard let device = start.deviceID, !turn.devices.contains(device),
                    try claimStart(start, state)
                else { continue }
                turn.starts.append(start.stamped(state.at / 1_000))
            }
            return turn
        }
    }

    private func stamp(_ token: PushToken) throws(SQLFailure) {
        _ = try execute(
            "UPDATE push_token SET stamp = ?, state_at = ?, progress_at = ? WHERE \(Self.isAtPlace)",
            [.integer(token.stamp), .integer(token.stateAt), .integer(token.progressAt)]
                + Self.place(of: token, under: token.secretHash))
    }

    /// Whether this call starts the session's activity on a device.
    ///
    /// False if another call did so within the interval, or if the device has had the maximum number of starts.
    private func claimStart(_ start: PushToken, _ state: ActivityState) throws(SQLFailure) -> Bool {
        let mine: [SQLValue] = [.hash(start.secretHash), .text(PushTokenKind.startedColumn)]
        _ = try execute(
            """
            DELETE FROM push_token WHERE secret_hash = ? AND kind = ? AND device_id = ?
                AND (expires_at <= ? OR expires_at > ?)
            """,
            mine + [
                .text(start.deviceID), .integer(state.now),
                // Only a relay whose clock was ahead can have set a later time.
                .integer(state.now + StorageLimits.activityStartInterval + StorageLimits.clockSkewMax),
            ])
        let recent = try count(
            "SELECT count(*) FROM push_token WHERE secret_hash = ? AND kind = ? AND device_id = ?",
            mine + [.text(start.deviceID)])
        guard recent < StorageLimits.activityStartsMax else { return false }
        var values = start.values(under: start.secretHash)
        values[1] = .text(PushTokenKind.startedColumn)
        values[2] = .text(state.sessionID)
        // The device's ID instead of its token, which may change within the interval.
        values[3] = .text(start.deviceID)
        values[11] = .integer(state.now + StorageLimits.activityStartInterval)
        return try execute(PushToken.insertion(dialect), values) > 0
    }
}

// MARK: - Rows

extension SQLSession {
    private static let isAtPlace = "secret_hash = ? AND kind = ? AND session_id = ? AND token = ?"

    private static func place(of token: PushToken, under hash: SecretHash) -> [SQLValue] {
        [.hash(hash), .text(token.kind.rawValue), .text(token.sessionID), .text(token.token)]
    }

    private func rows(
        _ condition: String, _ values: [SQLValue], _ key: SecretKey
    ) throws(SQLFailure) -> [PushToken] {
        var found: [PushToken] = []
        try query(
            """
            SELECT \(PushToken.columns.joined(separator: ", ")) FROM push_token
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND \(condition)
            """, .anyHash(of: key) + values
        ) { row throws(SQLFailure) in
            if let token = try PushToken(row) { found.append(token) }
        }
        return found.sorted { $0.id < $1.id }
    }

    /// Removes the tokens that the new token replaces, and returns them.
    private func removeReplaced(
        _ token: PushToken, under hash: SecretHash
    ) throws(SQLFailure) -> [PushToken] {
        guard let device = token.deviceID else { return [] }
        let condition = "kind = ? AND session_id = ? AND device_id = ? AND token <> ?"
        let values: [SQLValue] = [
            .text(token.kind.rawValue), .text(token.sessionID), .text(device), .text(token.token),
        ]
        let others = try rows(condition, values, SecretKey(primary: hash))
        guard !others.isEmpty else { return [] }
        _ = try execute(
            "DELETE FROM push_token WHERE secret_hash = ? AND \(condition)", [.hash(hash)] + values)
        return others
    }

    private func insert(_ token: PushToken, _ hash: SecretHash) throws(SQLFailure) {
        _ = try execute(PushToken.insertion(dialect), token.values(under: hash))
    }

    /// Removes expired activities, and the oldest activities beyond the limit.
    private func removeOldest(_ hash: SecretHash, at now: EpochMilliseconds) throws(SQLFailure) {
        _ = try execute(
            "DELETE FROM push_token WHERE secret_hash = ? AND kind = ? AND expires_at <= ?",
            [.hash(hash), .text(PushTokenKind.activity.rawValue), .integer(now)])
        let all = try rows(
            "kind = ?", [.text(PushTokenKind.activity.rawValue)], SecretKey(primary: hash))
        guard all.count > StorageLimits.activitiesMax else { return }
        let newest = all.sorted { ($0.updatedAt, $0.id) > ($1.updatedAt, $1.id) }
        for token in newest.dropFirst(StorageLimits.activitiesMax) {
            _ = try execute(
                "DELETE FROM push_token WHERE \(Self.isAtPlace)", Self.place(of: token, under: hash))
        }
    }
}

extension PushToken {
    fileprivate static let columns = [
        "secret_hash", "kind", "session_id", "token", "id", "device_id", "bundle_id", "apns_env",
        "attributes_type", "created_at", "updated_at", "expires_at", "stamp", "state_at", "progress_at",
        "ended",
    ]

    /// The statement that inserts a row unless a row with its key exists.
    static func insertion(_ dialect: SQLDialect) -> String {
        let places = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        return dialect.insertUnlessPresent(
            "INTO push_token (\(columns.joined(separator: ", "))) VALUES (\(places))")
    }

    func values(under hash: SecretHash) -> [SQLValue] {
        [
            .hash(hash), .text(kind.rawValue), .text(sessionID), .text(token), .text(id), .text(deviceID),
            .text(bundleID), .text(environment.rawValue), .text(attributesType), .integer(createdAt),
            .integer(updatedAt), .integer(expiresAt), .integer(stamp), .integer(stateAt),
            .integer(progressAt), .integer(hasEnded ? 1 : 0),
        ]
    }

    /// Reads a token from a row of `columns`; nil if the row only records a start or a replaced token.
    fileprivate init?(_ row: SQLRow) throws(SQLFailure) {
        guard let kind = PushTokenKind(rawValue: try row.text(1)) else { return nil }
        self.init(
            id: try row.text(4), secretHash: try row.hash(0), kind: kind, token: try row.text(3),
            sessionID: try row.text(2), deviceID: try row.optionalText(5), bundleID: try row.text(6),
            environment: DeviceEnvironment(column: try row.text(7)),
            attributesType: try row.optionalText(8), createdAt: try row.integer(9),
            updatedAt: try row.integer(10), expiresAt: row.isNull(11) ? nil : try row.integer(11),
            stamp: try row.integer(12), stateAt: try row.integer(13), progressAt: try row.integer(14),
            hasEnded: try row.integer(15) != 0)
    }
}

extension SQLValue {
    /// An integer, or NULL.
    fileprivate static func integer(_ value: Int64?) -> SQLValue { value.map { .integer($0) } ?? .null }
}

extension SQLStorage {
    package func save(_ token: PushToken, under key: SecretKey) async throws(StorageError) -> Bool {
        try token.validate()
        return try await write { session throws(SQLFailure) in try session.save(token, key) }
    }

    package func removeTokens(
        _ kind: PushTokenKind, session sessionID: String, token: String?, device: String?,
        under key: SecretKey
    ) async throws(StorageError) -> Int {
        try await write { session throws(SQLFailure) in
            try session.removeTokens(kind, session: sessionID, token: token, device: device, key)
        }
    }

    package func tokens(
        _ kind: PushTokenKind, of key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> [PushToken] {
        try await read { session throws(SQLFailure) in try session.tokens(kind, of: key, at: now) }
    }

    package func take(
        _ state: ActivityState, under key: SecretKey
    ) async throws(StorageError) -> ActivityTurn {
        let mayTake = try await read { session throws(SQLFailure) in try session.mayTake(state, key) }
        guard mayTake else { return ActivityTurn() }
        return try await write { session throws(SQLFailure) in try session.take(state, key) }
    }

    package func releaseStarts(
        _ starts: [PushToken], session sessionID: String
    ) async throws(StorageError) {
        guard !starts.isEmpty else { return }
        try await write { session throws(SQLFailure) in try session.releaseStarts(starts, sessionID) }
    }

    package func endActivities(sent: [PushToken], queued: [PushToken]) async throws(StorageError) {
        guard !sent.isEmpty || !queued.isEmpty else { return }
        try await write { session throws(SQLFailure) in
            try session.endActivities(sent: sent, queued: queued)
        }
    }
}
