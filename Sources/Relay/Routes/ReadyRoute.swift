import HTTPServer
import JSON
import Network
import Storage

/// `GET /ready`: whether the relay can do its work, for load balancers and people.
struct ReadyRoute: AnsweringRoute {
    let services: LoopServices

    /// Says what was found at most a second ago: the route is public.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        await services.checkReadiness().reply
    }
}

extension LoopServices {
    /// Asks the database and looks at APNs' credentials, at most once a second on each loop.
    func checkReadiness() async -> Readiness {
        let now = loop.now
        if let last = readiness, now.since(last.at) < Bounds.readinessCacheTime { return last.found }
        let found = await readinessNow()
        readiness = (now, found)
        return found
    }

    private func readinessNow() async -> Readiness {
        var readiness = Readiness(
            apns: shared.checkCredentials() ?? shared.apnsHealth.fault())
        do throws(StorageError) {
            try await shared.storage.ping()
            if shared.queueAgeMax > .zero, let due = try await shared.storage.nextPushDue(),
                shared.clock.now - due > shared.queueAgeMax.inMilliseconds,
                shared.queue.mayHaveWaited(shared.queueAgeMax, at: shared.monotonic())
            {
                readiness.queue = Readiness.overdue
            }
        } catch {
            readiness.storage = Readiness.unavailable
            readiness.queue = Readiness.unknown
            shared.log(.warning, "storage.unavailable", [.storageError(error)])
        }
        return readiness
    }
}

/// What `/ready` found; `nil` is well.
struct Readiness: Sendable, Equatable {
    /// What is wrong with the database, one word.
    var storage: String?
    /// What is wrong with APNs' credentials: a reason of APNs' or a word of ours.
    var apns: String?
    /// What is wrong with the pushes that wait, one word.
    var queue: String?

    /// The database doesn't answer.
    static let unavailable = "unavailable"
    /// A push has been due for longer than it may be.
    static let overdue = "overdue"
    /// It can't be asked.
    static let unknown = "unknown"

    /// The checks by name, with what each found.
    var checks: [(name: String, fault: String?)] {
        [("storage", storage), ("apns", apns), ("queue", queue)]
    }

    /// Whether nothing is wrong.
    var isReady: Bool { checks.allSatisfy { $0.fault == nil } }

    /// The answer: 200 or 503, with the checks by name in either.
    var reply: Reply {
        let error = APIError(.notReady)
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", isReady)
        if !isReady {
            writer.member("error", error.sentence)
            writer.member("code", error.code.rawValue)
        }
        writer.name("checks")
        writer.beginObject()
        for check in checks {
            writer.name(check.name)
            writer.string(check.fault ?? "ok")
        }
        writer.endObject()
        writer.endObject()
        var reply = Reply(status: isReady ? 200 : error.code.status, body: writer.finish())
        reply.code = isReady ? nil : error.code
        reply.retryAfterSeconds = isReady ? nil : error.code.retryAfterSeconds
        return reply
    }
}
