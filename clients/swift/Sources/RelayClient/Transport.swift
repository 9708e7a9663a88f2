public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Sends one HTTP request.
///
/// ``SessionTransport`` uses `URLSession`; tests have their own transports.
public protocol Transport: Sendable {
    /// Sends the request and returns the response's body and head.
    ///
    /// The call must end within the request's timeout, and must not follow redirects: the body contains a secret.
    func send(_ request: URLRequest) async throws -> (Data, URLResponse)
}

/// Sends requests with its own session, which stores nothing and follows no redirects.
public struct SessionTransport: Transport {
    /// How long one request may take, in seconds.
    public static let timeoutDefault: TimeInterval = 20

    private let session: URLSession

    /// Creates a transport whose requests take at most this many seconds.
    public init(timeout: TimeInterval = timeoutDefault) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout
        configuration.timeoutIntervalForResource = timeout
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }

    /// Sends the request; see ``Transport``.
    public func send(_ request: URLRequest) async throws -> (Data, URLResponse) {
        try await session.data(for: request)
    }
}

private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
