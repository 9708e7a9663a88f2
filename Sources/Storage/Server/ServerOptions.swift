/// The bounds and waits of the drivers for database servers.
package struct ServerOptions: Sendable {
    /// What a process may do with the database.
    package enum Access: Sendable {
        /// Change it; steps that the schema lacks are applied. An unfinished copy is refused, as `unfinishedCopy`.
        case write
        /// Change it; a schema that lacks steps is refused as `schemaTooOld`.
        case writeWithoutMigrating
        /// Fill it as the target of a copy; steps that the schema lacks are applied.
        case copyTarget
        /// Read it; changing calls throw `readOnly`.
        case readOnly
    }

    /// What this process may do.
    package var access = Access.write
    /// Connections, each with a thread of its own; they are opened when they are needed.
    package var connectionsMax = 10
    /// Calls that may wait for a connection; one more fails as `unavailable`.
    package var waitingCallsMax = 10_000
    /// How long a call may take with all its waits, for a connection too.
    package var callTimeout: Duration = .seconds(5)
    /// How long connecting to one host may take, unless the URL says otherwise.
    package var connectTimeout: Duration = .seconds(3)
    /// How long a connection may lie idle and still be used without being asked first whether it lives.
    package var checkAfterIdle: Duration = .seconds(30)
    /// How long that question may take.
    package var checkTimeout: Duration = .seconds(1)
    /// How old a connection may become; each gets a little less, so that not all are replaced at once.
    package var lifetime: Duration = .seconds(30 * 60)
    /// The wait after a first failure to connect; it doubles, and each is shortened by a random part of up to half.
    package var reconnectDelayMin: Duration = .milliseconds(100)
    /// The longest of these waits, and so about the longest that a server is back without the pool knowing.
    package var reconnectDelayMax: Duration = .seconds(1)
    /// How often a transaction is run that the server takes back because of a conflict.
    package var conflictAttemptsMax = 20
    /// The wait before it is run again, at most; it doubles up to 16 times this, of which a random part is waited.
    package var conflictDelay: Duration = .milliseconds(4)
    /// How long bringing the schema up to date may take, with the wait for another process that does it.
    package var migrationTimeout: Duration = .seconds(600)

    /// The defaults.
    package init() {}
}
