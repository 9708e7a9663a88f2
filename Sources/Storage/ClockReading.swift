/// A server's time, read between two readings of this machine's clock.
package struct ClockReading: Sendable, Hashable {
    /// The server's time.
    package let server: EpochMilliseconds
    /// This machine's time, halfway between the two readings.
    package let local: EpochMilliseconds

    /// Creates a reading from its parts.
    package init(server: EpochMilliseconds, local: EpochMilliseconds) {
        self.server = server
        self.local = local
    }

    /// Reads a server's clock; nil if the server has none.
    init?<Failure>(
        now: () -> EpochMilliseconds, server: () throws(Failure) -> EpochMilliseconds?
    ) throws(Failure) {
        let before = now()
        guard let server = try server() else { return nil }
        self.init(server: server, local: before + (now() - before) / 2)
    }

    /// How far this machine's clock is ahead of the server's, in milliseconds; negative if it is behind.
    package var ahead: EpochMilliseconds { local - server }
}
