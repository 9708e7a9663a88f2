package import Network

/// All limits and timeouts of a ``Client``, which is one group of connections on one loop.
package struct ClientSettings: Sendable, Equatable {
    /// The maximum number of connections, open or being established; Apple advises a few long-lived ones.
    package var connectionsMax = 8
    /// The maximum number of concurrent pushes per connection, even if the server allows more.
    package var streamsPerConnectionMax = 1_000
    /// The maximum number of queued pushes; more are refused with ``Unreachable/Cause/queueFull``.
    package var queuedPushesMax = 10_000
    /// The time limit from ``Client/send(_:completion:)`` to the response, including queueing.
    package var pushTimeout = Duration.seconds(10)
    /// The proxy for connections; `nil` for none.
    package var proxy: ConnectProxy?
    /// The time limit for name resolution, connecting and the TLS handshake.
    package var connectTimeout = Duration.seconds(5)
    /// How long a server may be silent while responses are outstanding before it gets a PING and no more new pushes.
    package var silenceBeforePing = Duration.seconds(2)
    /// How long a server may be silent while responses are outstanding before its connection is replaced.
    package var silenceMax = Duration.seconds(5)
    /// How long a connection may have a stream limit of 0 while pushes are queued before it is replaced.
    package var noStreamsMax = Duration.seconds(3)
    /// How long a connection may be idle before a PING checks whether it is alive.
    package var idleBeforePing = Duration.seconds(15 * 60)
    /// How long a retired connection may wait for its last responses.
    package var drainTimeout = Duration.seconds(10)
    /// The delay after the first failed connection, half of it random; doubles with each subsequent failure.
    package var backoffBase = Duration.milliseconds(250)
    /// The longest delay after failed connections.
    package var backoffMax = Duration.seconds(60)
    /// The number of consecutive failures after which pushes fail immediately instead of waiting for the next attempt.
    package var failuresBeforeRefusing = 3
    /// The age below which the end of a connection counts as a failure, which slows down reconnecting.
    package var settledAge = Duration.seconds(10)
    /// The maximum number of times that a push is sent again if the server did not process it.
    package var movesMax = 5

    /// Whether to keep the `date` of responses (``Client/answerDate``), for diagnostics; slows down each push.
    package var keepsDate = false

    /// How long a provider token is used before its source is asked for the current one.
    package var tokenCheckInterval = Duration.seconds(1)

    /// The defaults, suitable for Apple's servers.
    package init() {}
}
