/// What a look at a database found that changed nothing in it; for a diagnosis.
package struct DatabaseInspection: Sendable, Hashable {
    /// The steps that its schema lacks; empty when it is current, all of them when none of the relay's tables is there.
    package let missingSteps: [SchemaStep]
    /// Whether any device is registered; nil where the tables aren't there to look into.
    package let hasDevices: Bool?
    /// The server's clock; nil for a file, which has the machine's.
    package let clock: ClockReading?
    /// What a write came to that was taken back.
    package let write: WriteTrial

    /// A server's clock, read between two looks at this machine's.
    package struct ClockReading: Sendable, Hashable {
        /// The server's time.
        package let server: EpochMilliseconds
        /// This machine's time in the middle of asking.
        package let local: EpochMilliseconds

        /// A reading.
        package init(server: EpochMilliseconds, local: EpochMilliseconds) {
            self.server = server
            self.local = local
        }
    }

    /// What became of a row that was inserted, updated, deleted and taken back.
    package enum WriteTrial: Sendable, Hashable {
        /// It could be done.
        case done
        /// It couldn't.
        case failed(StorageError)
        /// Another process is the one that writes the database; its id as text.
        case heldBy(process: String)
        /// There is no table to write to.
        case notTried
    }

    /// An inspection of its parts.
    package init(
        missingSteps: [SchemaStep], hasDevices: Bool?, clock: ClockReading?, write: WriteTrial
    ) {
        self.missingSteps = missingSteps
        self.hasDevices = hasDevices
        self.clock = clock
        self.write = write
    }
}

/// The statements of a trial, the same in every engine; all `?` are texts or integers of `parameters`.
package enum WriteTrialStatements {
    /// One row of `device_registration`, under a hash that no secret has, is made, changed and removed.
    package static func all(id: UUIDv7, at now: EpochMilliseconds) -> [(sql: String, parameters: [SQLValue])]
    {
        let hash = SecretHash(Digest256(of: Array("relay check \(id.text)".utf8)))
        let row: [SQLValue] = [.hash(hash), .text(id.text)]
        return [
            (
                """
                INSERT INTO device_registration
                    (secret_hash, device_token, id, bundle_id, apns_env, created_at, updated_at)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
                row + [
                    .text(id.text), .text("relay.check"), .text(DeviceEnvironment.production.rawValue),
                    .integer(now), .integer(now),
                ]
            ),
            (
                "UPDATE device_registration SET updated_at = updated_at + 1 WHERE secret_hash = ? AND device_token = ?",
                row
            ),
            ("DELETE FROM device_registration WHERE secret_hash = ? AND device_token = ?", row),
        ]
    }

    /// Whether there is any row; a query for an integer.
    package static let hasDevices =
        "SELECT count(*) FROM (SELECT 1 FROM device_registration LIMIT 1) AS found"
}
