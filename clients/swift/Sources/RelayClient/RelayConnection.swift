internal import Foundation
internal import PushSealing

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// When and how often a request is repeated.
public struct RetryPolicy: Sendable, Equatable {
    /// The maximum number of requests for one call.
    public var attemptsMax = 3
    /// How long after a call begins it may still send another request.
    public var deadline = Duration.seconds(60)
    /// The wait before the second request if the relay specifies none; each later wait is twice as long.
    public var delay = Duration.seconds(1)

    /// Creates a policy with three requests within a minute.
    public init() {}

    /// A policy without retries.
    public static let never: RetryPolicy = {
        var policy = RetryPolicy()
        policy.attemptsMax = 1
        return policy
    }()
}

/// Sends requests to a relay and reads its responses.
struct RelayConnection: Sendable {
    /// The maximum size of a response, in bytes.
    static let answerBytesMax = 4 << 20

    private enum Answer {
        case done(status: Int, body: JSONValue)
        case rejected(Rejection)
    }

    let url: URL
    let transport: any Transport
    let policy: RetryPolicy
    /// The function that waits; tests replace it so that they don't have to wait.
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Posts an object, and returns the status and the object in a successful response.
    ///
    /// Requests that get status 429 or 503 are repeated according to the policy. That is safe: whatever must not happen
    /// twice, such as an event, carries an ID.
    func post(
        _ path: String, _ members: [JSONValue.Member], bearer: String? = nil
    ) async throws(RelayError) -> (status: Int, body: JSONValue) {
        let request = request(path, members, bearer)
        let start = ContinuousClock.now
        var attempt = 1
        while true {
            let answer = try await send(request)
            let rejection: Rejection
            switch answer {
            case .done(let status, let body): return (status, body)
            case .rejected(let it): rejection = it
            }
            let delay =
                rejection.retryAfter.map { Duration.seconds($0) } ?? policy.delay * (1 << min(attempt - 1, 8))
            guard [429, 503].contains(rejection.status), attempt < policy.attemptsMax,
                start.duration(to: .now) + delay <= policy.deadline
            else { throw .rejected(rejection) }
            do { try await sleep(delay) } catch { throw .cancelled }
            attempt += 1
        }
    }

    private func request(_ path: String, _ members: [JSONValue.Member], _ bearer: String?) -> URLRequest {
        var request = URLRequest(url: url.appendingPathComponent(path))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        if let bearer { request.setValue("Bearer \(bearer)", forHTTPHeaderField: "Authorization") }
        request.httpBody = Data(JSONValue.object(members).text.utf8)
        return request
    }

    private func send(
        _ request: URLRequest
    ) async throws(RelayError) -> Answer {
        let data: Data
        let response: URLResponse
        do {
            (data, response) = try await transport.send(request)
        } catch {
            throw Self.failure(error)
        }
        guard let response = response as? HTTPURLResponse else { throw .unexpectedAnswer(status: 0) }
        let status = response.statusCode
        // The status counts even if the response is from a proxy and has no relay's body.
        let body = data.count <= Self.answerBytesMax ? JSONValue(parsing: Array(data)) : nil
        if (200..<300).contains(status) {
            guard let body, body["ok"] == .bool(true) else { throw .unexpectedAnswer(status: status) }
            return .done(status: status, body: body)
        }
        let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }
        guard let body, let code = body["code"]?.string else {
            guard [429, 503].contains(status) else { throw .unexpectedAnswer(status: status) }
            let code = Rejection.Code(rawValue: "")
            return .rejected(
                Rejection(status: status, code: code, sentence: "", field: nil, retryAfter: retryAfter))
        }
        return .rejected(
            Rejection(
                status: status, code: Rejection.Code(rawValue: code), sentence: body["error"]?.string ?? "",
                field: body["field"]?.string, retryAfter: retryAfter))
    }

    private static func failure(_ error: any Error) -> RelayError {
        if error is CancellationError { return .cancelled }
        guard let error = error as? URLError else { return .unreachable("\(type(of: error))") }
        switch error.code {
        case .cancelled: return .cancelled
        case .timedOut: return .timedOut
        default: return .unreachable(error.localizedDescription)
        }
    }
}
