import APNs
import Instruments
import Storage
import WebPush

/// The spans of a push's attempts.
///
/// This is a class so that a push without spans carries only a pointer. Confined to its loop.
final class PushSpans {
    let recorder: SpanRecorder
    /// The number of attempts so far, including those before the push was queued.
    private var attempts: Int
    private var begun: SpanRecorder.Begun?

    /// Creates the spans for a push that has been attempted this many times.
    init(_ recorder: SpanRecorder, attempts: Int = 0) {
        self.recorder = recorder
        self.attempts = attempts
    }

    /// Records that an attempt begins.
    func begin() {
        begun = recorder.begin()
        attempts += 1
    }

    /// Records that an attempt at APNs ended.
    func end(_ push: APNs.Push, _ outcome: APNs.Outcome, _ environment: Environment) {
        var details = details(of: push, .apns)
        details.append(.note("environment", environment.rawValue))
        details.append(.note("app", push.notification.topic.text))
        let hosts = recorder.tracer.options.apnsHosts
        let host = environment == .production ? hosts.production : hosts.sandbox
        if !host.isEmpty { details.append(.note("server.address", host)) }
        switch outcome {
        case .accepted: finish(details, status: 200, error: nil)
        case .rejected(let rejection): finish(details, status: rejection.status, error: rejection.name)
        case .unreachable(let lack): finish(details, status: nil, error: lack.cause.rawValue)
        }
    }

    /// Records that an attempt at a push service ended; hosts that the relay doesn't know are left out, because tenants
    /// choose them.
    func end(_ push: APNs.Push, _ outcome: WebPush.Outcome, _ service: PushService, host: String) {
        var details = details(of: push, .webpush)
        if service != .other { details.append(.note("server.address", host)) }
        switch outcome {
        case .accepted: finish(details, status: nil, error: nil)
        case .rejected(let rejection): finish(details, status: rejection.status, error: rejection.name)
        case .unreachable(let lack): finish(details, status: nil, error: lack.cause.rawValue)
        }
    }

    private func details(of push: APNs.Push, _ transport: Device.Transport) -> [LogField] {
        [
            .note("http.request.method", "POST"), .note("transport", transport.rawValue),
            .apnsID(push.id), .device(push.deviceToken), .count("attempt", attempts),
            .count("http.request.resend_count", attempts - 1),
        ]
    }

    private func finish(_ details: [LogField], status: Int?, error: String?) {
        guard let begun = begun.take() else { return }
        var details = details
        if let status { details.append(.count("http.response.status_code", status)) }
        if let error { details.append(.note("error.type", error)) }
        recorder.end(begun, "push", .client, details, isFailed: error != nil)
    }
}
