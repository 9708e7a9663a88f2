/// Limits and timeouts for the database server drivers.
package struct ServerOptions: Sendable {
    /// What a process may do with the database.
    package enum Access: Sendable {
        /// Change the database and apply missing schema steps; an unfinished copy is refused with `unfinishedCopy`.
        case write
        /// Change the database; a schema with missing steps is refused with `schemaTooOld`.
        case writeWithoutMigrating
        /// Read the database; calls that would change it throw `readOnly`.
        case readOnly
    }

    /// TCP keep-alive probes for idle connections (tcp(7)).
    package struct KeepAlive: Sendable {
        /// Seconds until the first probe, less than the idle time after which networks drop connections.
        package var idleSeconds = 5
        /// Seconds between probes.
        package var intervalSeconds = 5
        /// Milliseconds after which a connection whose probes or data aren't acknowledged is dropped.
        package var unansweredMilliseconds = 15_000
    }

    /// What this process may do with the database.
    package var access = Access.write
    /// Maximum connections, each with its own thread, opened on demand.
    package var connectionsMax = 10
    /// Maximum connections being opened at the same time.
    ///
    /// For each TLS connection, libmariadb reads all of the system's certificates, one connection at a time. On a slow
    /// machine, opening ten connections at once would exceed `connectTimeout`, and the server would be treated as down.
    package var openingMax = 2
    /// Maximum calls waiting for a connection; additional calls fail with `unavailable`.
    package var waitingCallsMax = 10_000
    /// Maximum calls of one kind that share a statement.
    package var callsPerSharedStatementMax = 64
    /// Maximum shared statements of one kind at a time; calls that arrive in the meantime wait and share the next
    /// statement.
    package var sharedStatementsMax = 2
    /// How long a call may take, including all waits.
    package var callTimeout: Duration = .seconds(5)
    /// How long connecting to one host may take, unless the URL sets another timeout.
    package var connectTimeout: Duration = .seconds(3)
    /// How long a connection may be idle before it is tested at its next use: a firewall or load balancer may have
    /// dropped it silently.
    package var checkAfterIdle: Duration = .seconds(5)
    /// Timeout for the test after `checkAfterIdle`, at most a quarter of `callTimeout`.
    package var checkTimeout: Duration = .seconds(1)
    /// How the kernel probes idle connections.
    package var keepAlive = KeepAlive()
    /// Maximum age of a connection; each gets slightly less, so that not all are replaced at once.
    package var lifetime: Duration = .seconds(30 * 60)
    /// The delay after the first failure to connect; it doubles with each failure, less a random part of up to half.
    package var reconnectDelayMin: Duration = .milliseconds(100)
    /// The maximum delay between attempts to connect, and so roughly the longest time that the pool takes to notice
    /// that the server is back.
    package var reconnectDelayMax: Duration = .seconds(1)
    /// Maximum number of times that a transaction is run if the server rolls it back because of conflicts.
    package var conflictAttemptsMax = 20
    /// The maximum delay before the first retry of a conflicting transaction.
    ///
    /// The maximum doubles with each later retry, up to 16 times this value; the actual delay is random.
    package var conflictDelay: Duration = .milliseconds(4)
    /// How long a migration may take, including the wait for another process's migration.
    package var migrationTimeout: Duration = .seconds(600)

    /// Creates options with the default values.
    package init() {}
}
