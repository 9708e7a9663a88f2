import APNs
import Network
import Storage

/// Sends pushes, again at once if ``OutcomePolicy`` says so, and reports each push's end and all outcomes.
///
/// Confined to its loop.
final class AttemptRunner {
    private let services: LoopServices
    /// Changes a push for another environment; `nil` if pushes are the same in both.
    private let adapt: ((Push, Environment) -> Push)?
    private var report = OutcomeReport()
    /// Whether somebody waits for the pushes; if not, none is sent again.
    var isAwaited = true

    /// A runner without pushes.
    init(on services: LoopServices, adapting adapt: ((Push, Environment) -> Push)? = nil) {
        self.services = services
        self.adapt = adapt
    }

    /// Sends a push; `completion` may be called before this returns.
    ///
    /// `subject` is returned with the end, so that `completion` captures only its object and needs no allocation per push.
    func send<Subject>(
        _ push: Push, _ attempt: Attempt, for subject: Subject,
        completion: @escaping (PushEnd, Subject) -> Void
    ) {
        let services = services
        let bundleID = push.notification.topic.text
        // Looked up for each attempt, because a reload may have replaced the apps.
        guard let key = services.apps.key(of: bundleID) else { return completion(.unknownApp, subject) }
        let number = services.counts.apps.number(of: bundleID)
        let began = services.loop.now.nanoseconds
        services.senders.sender(of: key, to: attempt.environment).send(push) { [self] outcome in
            let took = services.loop.now.nanoseconds &- began
            services.counts.attempt(outcome, app: number, attempt.environment, took: took)
            let step = OutcomePolicy.step(after: outcome, of: attempt)
            report.note(outcome, step, attempt.environment, key, bundleID)
            switch step {
            case .end(let end): completion(end, subject)
            case .sendAgain where !isAwaited: completion(.unfinished, subject)
            case .sendAgain(let next):
                let again = adapt?(push, next.environment) ?? push
                send(again, next, for: subject, completion: completion)
            }
        }
    }

    /// Writes the outcomes since the last call to the log and `/ready`.
    func logReport() {
        report.log(to: services.shared)
        report = OutcomeReport()
    }
}
