import Foundation
import PushSealing

@testable import RelayClient

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A transport that returns predefined responses and records the requests.
actor FakeTransport: Transport {
    struct Answer: Sendable {
        var status = 200
        var body = #"{"ok":true}"#
        var headers: [String: String] = [:]
        var failure: URLError.Code?
    }

    private var answers: [Answer]
    private(set) var requests: [Request] = []

    struct Request: Sendable {
        let url: String
        let authorization: String?
        let body: JSONValue
    }

    init(_ answers: [Answer] = []) { self.answers = answers }

    func send(_ request: URLRequest) async throws -> (Data, URLResponse) {
        let body = JSONValue(parsing: Array(request.httpBody ?? Data())) ?? .null
        let url = request.url?.absoluteString ?? ""
        requests.append(
            Request(
                url: url, authorization: request.value(forHTTPHeaderField: "Authorization"), body: body))
        let answer = answers.isEmpty ? Answer() : answers.removeFirst()
        if let failure = answer.failure { throw URLError(failure) }
        guard let place = request.url,
            let response = HTTPURLResponse(
                url: place, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: answer.headers)
        else { throw URLError(.badURL) }
        return (Data(answer.body.utf8), response)
    }
}

/// Counts waits instead of waiting.
actor FakeSleep {
    private(set) var waits: [Duration] = []

    func sleep(_ duration: Duration) { waits.append(duration) }
}

/// A relay with predefined responses.
struct TestRelay {
    let transport: FakeTransport
    let sleep = FakeSleep()
    let relay: Relay

    init(_ pairing: Pairing, _ answers: [FakeTransport.Answer] = []) throws {
        transport = FakeTransport(answers)
        guard let url = URL(string: pairing.relayURL) else { throw URLError(.badURL) }
        var connection = RelayConnection(url: url, transport: transport, policy: RetryPolicy())
        connection.sleep = { [sleep] in await sleep.sleep($0) }
        relay = Relay(pairing, connection)
    }
}
