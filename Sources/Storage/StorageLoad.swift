/// How busy a storage is, for whoever watches it.
package struct StorageLoad: Sendable, Equatable {
    /// Connections to a database server.
    package struct Connections: Sendable, Equatable {
        /// As many as there may be.
        package var max = 0
        /// Connections that wait for a call.
        package var idle = 0
        /// Connections that work on one.
        package var busy = 0
        /// Connections on their way.
        package var opening = 0
        /// Connections that came to be, since the storage was opened.
        package var opened: UInt64 = 0
        /// Attempts to connect that came to nothing.
        package var failed: UInt64 = 0
        /// Connections that were lost with or without a call on them; those closed for their age are none of these.
        package var lost: UInt64 = 0

        /// No connections.
        package init() {}
    }

    /// The connections; nil for a database that is a file.
    package var connections: Connections?
    /// Calls that wait for a connection, or changes that wait for a file's one writer.
    package var waitingCalls = 0
    /// How long calls to a server took, their wait for a connection included; of a file, the writer's transactions.
    package var durations = DurationHistogram()

    /// Nothing to do.
    package init() {}
}
