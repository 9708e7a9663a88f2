/// The result of inspecting a database without changing it, for `relay check`.
package struct DatabaseInspection: Sendable, Hashable {
    /// The steps that the schema lacks: none if it is current, all if the database has none of the relay's tables.
    package let missingSteps: [SchemaStep]
    /// Whether any device is registered; nil if the tables don't exist.
    package let hasDevices: Bool?
    /// The server's clock; nil for a file.
    package let clock: ClockReading?
    /// The result of the trial write.
    package let write: WriteTrial

    /// The result of inserting, updating and deleting a row in a transaction that was rolled back.
    package enum WriteTrial: Sendable, Hashable {
        /// The trial write succeeded.
        case done
        /// The trial write failed.
        case failed(StorageError)
        /// Another process, with this ID, is the database's only writer.
        case heldBy(process: String)
        /// There is no table to write to.
        case notTried
    }

    /// Creates an inspection from its parts.
    package init(
        missingSteps: [SchemaStep], hasDevices: Bool?, clock: ClockReading?, write: WriteTrial
    ) {
        self.missingSteps = missingSteps
        self.hasDevices = hasDevices
        self.clock = clock
        self.write = write
    }
}
