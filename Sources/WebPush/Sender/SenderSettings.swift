package import Network

/// All limits and timeouts of a ``Sender``; each applies per sender, and thus per event loop.
package struct SenderSettings: Sendable {
    /// The maximum number of connections to one host and port.
    package var connectionsPerHostMax = 4
    /// The maximum total number of connections.
    package var connectionsMax = 64
    /// The maximum number of concurrent requests on an HTTP/2 connection, even if the server allows more.
    package var streamsPerConnectionMax = 100
    /// The maximum number of requests under way.
    package var underWayMax = 2_000
    /// The maximum number of queued pushes.
    package var queuedMax = 10_000
    /// The maximum total size of the queued pushes' payloads and endpoints, in bytes.
    package var queuedBytesMax = 32 << 20
    /// The maximum number of queued pushes for one host and port, so that a stalled host leaves room for others.
    package var queuedPerHostMax = 8_000
    /// The time limit from ``Sender/send(_:completion:)`` to the response, including queueing.
    package var pushTimeout = Duration.seconds(10)
    /// The time limit for name resolution, connecting and the TLS handshake.
    package var connectTimeout = Duration.seconds(5)
    /// How long a service may be silent while responses are outstanding before it gets a PING and no more new pushes.
    package var silenceBeforePing = Duration.seconds(2)
    /// How long a service may be silent while responses are outstanding before its connection is closed.
    package var silenceMax = Duration.seconds(5)
    /// How long a connection without pushes is kept; firewalls remember idle connections for longer.
    package var idleMax = Duration.seconds(110)
    /// How often to check for silent and idle connections.
    package var checkInterval = Duration.milliseconds(500)
    /// The maximum number of times that a push is sent again if the service did not process it.
    package var movesMax = 5
    /// The number of consecutive failures to connect after which pushes to a host fail immediately for a while.
    package var failuresBeforeRefusing = 3
    /// How long pushes to a host fail immediately after failures to connect; doubles with each subsequent failure.
    package var backOffBase = Duration.milliseconds(250)
    /// The longest time for which pushes to a host fail immediately.
    package var backOffMax = Duration.seconds(60)
    /// The proxy for connections; `nil` for none, whatever the environment variables say.
    package var proxy: ConnectProxy?
    /// The hosts and ports that are reached without the proxy.
    package var bypassesProxy: @Sendable (_ host: String, _ port: UInt16) -> Bool = { _, _ in false }
    /// A file of PEM certificates to trust instead of the system's.
    package var caFile: String?

    /// The defaults, suitable for browsers' push services.
    package init() {}
}
