import APNs
import Network
import Programs
import Storage
import WebPush

/// Sends pushes, resends them immediately if ``OutcomePolicy`` or ``WebPushPolicy`` requires it, and reports each
/// push's end and all outcomes.
///
/// Confined to its loop.
final class AttemptRunner {
    private let services: LoopServices
    /// Adapts a push to another environment; `nil` if pushes are the same in both.
    private let adapt: ((APNs.Push, Environment) -> APNs.Push)?
    private var report = OutcomeReport()
    private var webPushReport = WebPushReport()
    private var messages = WebPushMessages()
    /// Whether a caller is waiting for the pushes; otherwise none is resent.
    var isAwaited = true

    /// Creates a runner that has sent no pushes yet.
    init(on services: LoopServices, adapting adapt: ((APNs.Push, Environment) -> APNs.Push)? = nil) {
        self.services = services
        self.adapt = adapt
    }

    /// Sends a push; `completion` may be called before this returns.
    ///
    /// `subject` is passed to `completion` with the end, so that the closure captures only one object and needs no
    /// allocation.
    ///
    /// - Parameter spans: Records the attempts, if the push is traced.
    func send<Subject>(
        _ push: APNs.Push, _ route: PushRoute, for subject: Subject, spans: PushSpans? = nil,
        completion: @escaping (PushEnd, Subject) -> Void
    ) {
        switch route {
        case .apns(let attempt): send(push, attempt, for: subject, spans, completion: completion)
        case .webPush(let route): send(push, route, for: subject, spans, completion: completion)
        }
    }

    private func send<Subject>(
        _ push: APNs.Push, _ attempt: Attempt, for subject: Subject, _ spans: PushSpans?,
        completion: @escaping (PushEnd, Subject) -> Void
    ) {
        let services = services
        let bundleID = push.notification.topic.text
        // Looked up for each attempt, because a reload may have replaced the apps.
        guard let key = services.apps.key(of: bundleID) else { return completion(.unknownApp, subject) }
        let number = services.counts.apps.number(of: bundleID)
        let began = services.loop.now.nanoseconds
        spans?.begin()
        services.senders.sender(of: key, to: attempt.environment).send(push) { [self] outcome in
            let took = services.loop.now.nanoseconds &- began
            services.counts.attempt(outcome, app: number, attempt.environment, took: took)
            spans?.end(push, outcome, attempt.environment)
            let step = OutcomePolicy.step(after: outcome, of: attempt)
            report.note(outcome, step, attempt.environment, key, bundleID)
            switch step {
            case .end(let end): completion(end, subject)
            case .sendAgain where !isAwaited: completion(.unfinished, subject)
            case .sendAgain(let next):
                let again = adapt?(push, next.environment) ?? push
                send(again, next, for: subject, spans, completion: completion)
            }
        }
    }

    private func send<Subject>(
        _ push: APNs.Push, _ route: WebPushRoute, for subject: Subject, _ spans: PushSpans?,
        completion: @escaping (PushEnd, Subject) -> Void
    ) {
        let services = services
        guard let sender = services.webPushSender, let keys = services.shared.webPush else {
            return completion(.unknownApp, subject)
        }
        func fail(_ reason: String) {
            completion(.failed(OutcomePolicy.Failure(reason: reason)), subject)
        }
        // The page must subscribe again, just as when a push service gives this reason.
        guard let key = keys[route.device.keyID] else {
            return fail(WebPush.Reason.vapidPkHashMismatch.rawValue)
        }
        let now = services.shared.clock.now
        guard let made = messages.message(of: push, route, keys, at: now) else {
            return fail(FailureReason.nothingToShow)
        }
        let began = services.loop.now.nanoseconds
        spans?.begin()
        let request = WebPush.Push(made.message, to: route.device.subscription, key: key)
        sender.send(request) { [self] outcome in
            services.counts.attempt(outcome, took: services.loop.now.nanoseconds &- began)
            let small = made.mayShrink ? route.small : nil
            let host = route.device.subscription.endpoint.host
            let service = PushService(host: host)
            spans?.end(push, outcome, service, host: host)
            let step = WebPushPolicy.step(
                after: outcome, of: service, mayShrink: small != nil, firstSentAt: route.firstSentAt)
            webPushReport.note(outcome, of: service, host: host)
            switch (step, small) {
            case (.end(let end), _): completion(end, subject)
            case (.sendSmall, let next?) where isAwaited:
                send(push, next, for: subject, spans, completion: completion)
            case (.sendSmall, _): completion(.unfinished, subject)
            }
        }
    }

    /// Reports the outcomes since the last call in the log and in `/ready`.
    func logReport() {
        report.log(to: services.shared)
        report = OutcomeReport()
        webPushReport.log(to: services.shared)
        webPushReport = WebPushReport()
    }
}
