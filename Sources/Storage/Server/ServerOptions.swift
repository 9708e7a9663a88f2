/// Limits and timeouts of the drivers for database servers.
package struct ServerOptions: Sendable {
    /// What a process may do with the database.
    package enum Access: Sendable {
        /// Change it; missing schema steps are applied. An unfinished copy is refused as `unfinishedCopy`.
        case write
        /// Change it; a schema with missing steps is refused as `schemaTooOld`.
        case writeWithoutMigrating
        /// Read it; changing calls throw `readOnly`.
        case readOnly
    }

    /// TCP's probes of idle connections (tcp(7)).
    package struct KeepAlive: Sendable {
        /// Seconds until the first; networks that forget connections do so after longer.
        package var idleSeconds = 5
        /// Seconds between them.
        package var intervalSeconds = 5
        /// Milliseconds after which a connection whose probes or data aren't acknowledged has ended.
        package var unansweredMilliseconds = 15_000
    }

    /// What this process may do.
    package var access = Access.write
    /// Maximum connections, each with its own thread, opened on demand.
    package var connectionsMax = 10
    /// Maximum connections being opened at a time.
    ///
    /// libmariadb reads all of the system's certificates for each connection that uses TLS, one connection after another:
    /// on a slow machine, ten at once would exceed `connectTimeout`, and the server would count as down.
    package var openingMax = 2
    /// Maximum calls waiting for a connection; further ones fail as `unavailable`.
    package var waitingCallsMax = 10_000
    /// Maximum calls of one kind that share a statement.
    package var callsPerSharedStatementMax = 64
    /// Maximum such statements of a kind at a time; calls that arrive in the meantime wait and share the next one.
    package var sharedStatementsMax = 2
    /// How long a call may take, including all waits.
    package var callTimeout: Duration = .seconds(5)
    /// How long connecting to one host may take, unless the URL says otherwise.
    package var connectTimeout: Duration = .seconds(3)
    /// How long a connection may be idle before it is tested when next used: a firewall or load balancer may have
    /// dropped it silently.
    package var checkAfterIdle: Duration = .seconds(5)
    /// Timeout of that test, at most a quarter of `callTimeout`.
    package var checkTimeout: Duration = .seconds(1)
    /// How the kernel probes idle connections.
    package var keepAlive = KeepAlive()
    /// Maximum age of a connection; each gets slightly less, so that not all are replaced at once.
    package var lifetime: Duration = .seconds(30 * 60)
    /// The first delay after failing to connect; it doubles each time, less a random part of up to half.
    package var reconnectDelayMin: Duration = .milliseconds(100)
    /// The maximum of these delays, and so about the longest time until the pool notices that the server is back.
    package var reconnectDelayMax: Duration = .seconds(1)
    /// Maximum runs of a transaction that the server rolls back because of conflicts.
    package var conflictAttemptsMax = 20
    /// The maximum delay before the second run.
    ///
    /// It doubles up to 16 times this value; the actual delay is random.
    package var conflictDelay: Duration = .milliseconds(4)
    /// How long migrating may take, including the wait for another process that migrates.
    package var migrationTimeout: Duration = .seconds(600)

    /// The defaults.
    package init() {}
}
