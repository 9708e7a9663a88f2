import HTTPServer
import JSON
import Network
import Programs
import Storage

/// `GET /ready`: whether the relay is ready, for load balancers and operators.
struct ReadyRoute: AnsweringRoute {
    let services: LoopServices

    /// Returns a result that is at most a second old; it is cached because the route is public.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        await services.shared.checkReadiness().reply
    }
}

extension Services {
    /// Checks the relay's readiness, at most once a second for all loops.
    func checkReadiness() async -> Readiness {
        await readiness.value(at: monotonic(), lifetime: Bounds.readinessCacheTime) { await readinessNow() }
    }

    private func readinessNow() async -> Readiness {
        var readiness = Readiness(apns: checkCredentials() ?? apnsHealth.fault())
        do throws(StorageError) {
            try await databaseClock.ping()
            readiness.clock = databaseClock.isOff ? Readiness.differs : nil
            if queueAgeMax > .zero, let due = try await storage.nextPushDue(),
                clock.now - due > queueAgeMax.inMilliseconds,
                queue.mayHaveWaited(queueAgeMax, at: monotonic())
            {
                readiness.queue = Readiness.overdue
            }
            readiness.write = await writes.fault().map(Readiness.word)
        } catch {
            readiness.storage = Readiness.unavailable
            readiness.write = Readiness.unknown
            readiness.queue = Readiness.unknown
            readiness.clock = Readiness.unknown
            log(.warning, "storage.unavailable", [.storageError(error)])
            // Also makes the log report the recovery.
            writes.note(error)
        }
        return readiness
    }
}

extension Readiness {
    /// The response: 200 or 503, each with the checks by name.
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
