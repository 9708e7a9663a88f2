package import Instruments

/// How busy a storage is, for metrics.
package struct StorageLoad: Sendable, Equatable {
    /// Connections to a database server.
    package struct Connections: Sendable, Equatable {
        /// The maximum number of connections.
        package var max = 0
        /// Idle connections.
        package var idle = 0
        /// Connections that are executing a call.
        package var busy = 0
        /// Connections being opened.
        package var opening = 0
        /// Connections established since the storage was opened.
        package var opened: UInt64 = 0
        /// Failed attempts to connect.
        package var failed: UInt64 = 0
        /// Lost connections, idle or busy; connections closed because of their age don't count.
        package var lost: UInt64 = 0

        /// No connections.
        package init() {}
    }

    /// The connections; nil for a database that is a file.
    package var connections: Connections?
    /// Calls waiting for a connection, or changes waiting for a file's only writer.
    package var waitingCalls = 0
    /// Durations of calls to a server, including waits for a connection, or of transactions by a file's writer.
    package var durations = DurationHistogram()

    /// No load.
    package init() {}
}
