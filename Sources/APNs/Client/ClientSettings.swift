/// Every bound and wait of a ``Client``; each holds for one client, which is one group of connections on one loop.
package struct ClientSettings: Sendable, Equatable {
    /// How many connections may stand or be on their way; Apple asks for several kept ones, not for many.
    package var connectionsMax = 8
    /// How many pushes may be on one connection at once, whatever more the server would allow.
    package var streamsPerConnectionMax = 1_000
    /// How many pushes may wait for a connection with room; one more is refused as ``Unreachable/Cause/queueFull``.
    package var queuedPushesMax = 10_000
    /// How long a push may take from ``Client/send(_:completion:)`` to its answer, waiting included.
    package var pushTimeout = Duration.seconds(10)
    /// How long the name, the socket and the TLS handshake of one connection may take.
    package var connectTimeout = Duration.seconds(5)
    /// After so long without a word from a server that owes answers, it is asked with a PING and gets no new pushes.
    package var silenceBeforePing = Duration.seconds(2)
    /// After so long without a word from a server that owes answers, its connection is replaced.
    package var silenceMax = Duration.seconds(5)
    /// A connection whose stream limit has been 0 for so long is replaced when pushes wait.
    package var noStreamsMax = Duration.seconds(3)
    /// After so long without a push on a connection a PING finds out whether it still stands.
    package var idleBeforePing = Duration.seconds(15 * 60)
    /// How long a connection that takes no more pushes may wait for its last answers.
    package var drainTimeout = Duration.seconds(10)
    /// The wait after the first failed connection; it doubles with each further one, and half of it is random.
    package var backoffBase = Duration.milliseconds(250)
    /// The longest wait after failed connections.
    package var backoffMax = Duration.seconds(60)
    /// After so many failed connections in a row pushes fail at once instead of waiting for the next attempt.
    package var failuresBeforeRefusing = 3
    /// A connection that ends younger than this counts as a failure, so that reconnecting slows down.
    package var settledAge = Duration.seconds(10)
    /// How often a push that a server certainly did not process goes to a connection again.
    package var movesMax = 5

    /// Whether the `date` of answers is kept (``Client/answerDate``); for a diagnosis, since it makes each push dearer.
    package var keepsDate = false

    /// How long a provider token is used before its source is asked again whether it is still the one.
    package var tokenCheckInterval = Duration.seconds(1)

    /// The defaults, which suit Apple's servers.
    package init() {}
}
