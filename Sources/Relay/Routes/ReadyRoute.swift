import HTTPServer
import JSON
import Network
import Storage

/// `GET /ready`: whether the relay can do its work, for load balancers and people.
struct ReadyRoute: AnsweringRoute {
    let services: LoopServices

    /// Asks the database and looks at APNs' credentials, at most once a second on each loop: the route is public.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let now = services.loop.now
        if let last = services.readiness, now.since(last.at) < Bounds.readinessCacheTime { return last.reply }
        let reply = await check().reply
        services.readiness = (now, reply)
        return reply
    }

    private func check() async -> Readiness {
        var readiness = Readiness(
            apns: services.shared.checkCredentials()
                ?? services.shared.apnsHealth.fault(of: services.apps.keys))
        do throws(StorageError) {
            try await services.shared.storage.ping()
        } catch {
            readiness.storage = "unavailable"
            services.shared.log(.warning, "storage.unavailable", [.storageError(error)])
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

    /// Whether nothing is wrong.
    var isReady: Bool { storage == nil && apns == nil }

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
        writer.member("storage", storage ?? "ok")
        writer.member("apns", apns ?? "ok")
        writer.endObject()
        writer.endObject()
        var reply = Reply(status: isReady ? 200 : error.code.status, body: writer.finish())
        reply.retryAfterSeconds = isReady ? nil : error.code.retryAfterSeconds
        return reply
    }
}
