package import Network

/// All limits and timeouts of a ``Client``, each per client: one group of connections on one loop.
package struct ClientSettings: Sendable, Equatable {
    /// The maximum number of open and connecting connections; Apple advises a few long-lived ones.
    package var connectionsMax = 8
    /// The maximum number of concurrent pushes per connection, even if the server allows more.
    package var streamsPerConnectionMax = 1_000
    /// The maximum number of queued pushes; more are refused with ``Unreachable/Cause/queueFull``.
    package var queuedPushesMax = 10_000
    /// The time from ``Client/send(_:completion:)`` to the answer, including queueing.
    package var pushTimeout = Duration.seconds(10)
    /// The proxy for connections; `nil` for none.
    package var proxy: ConnectProxy?
    /// The time for name resolution, connection and TLS handshake.
    package var connectTimeout = Duration.seconds(5)
    /// How long a server that owes answers may be silent before it gets a PING and no new pushes.
    package var silenceBeforePing = Duration.seconds(2)
    /// How long a server that owes answers may be silent before its connection is replaced.
    package var silenceMax = Duration.seconds(5)
    /// How long a connection may have a stream limit of 0 while pushes are queued before it is replaced.
    package var noStreamsMax = Duration.seconds(3)
    /// After this long without a push, a PING checks whether the connection is alive.
    package var idleBeforePing = Duration.seconds(15 * 60)
    /// How long a retired connection may wait for its last answers.
    package var drainTimeout = Duration.seconds(10)
    /// The delay after the first failed connection; doubles with each further failure; half of it is random.
    package var backoffBase = Duration.milliseconds(250)
    /// The longest delay after failed connections.
    package var backoffMax = Duration.seconds(60)
    /// After this many consecutive failures, pushes fail immediately instead of waiting for the next attempt.
    package var failuresBeforeRefusing = 3
    /// A connection that ends younger than this counts as a failure, which slows down reconnecting.
    package var settledAge = Duration.seconds(10)
    /// How often a push that the server did not process is sent again.
    package var movesMax = 5

    /// Whether to keep the `date` of answers (``Client/answerDate``); for diagnostics, since it makes each push slower.
    package var keepsDate = false

    /// How long a provider token is used before its source is asked for the current one.
    package var tokenCheckInterval = Duration.seconds(1)

    /// The defaults, suitable for Apple's servers.
    package init() {}
}
