package import HTTPServer
import JSON
import Network

/// The simulator's control API: JSON over HTTP/1.1, described in docs/reference/simulator.md.
package struct ControlAPI: Sendable {
    /// The longest request body in bytes, enough to register many device tokens at once.
    package static let bodyBytesMax = 16 << 20
    /// The longest time that `GET /pushes` waits, in seconds.
    static let waitSecondsMax = 30.0
    /// The default number of pushes in one response; ``pushesMax`` is the largest.
    static let pushesDefault = 1_000
    static let pushesMax = 10_000

    let simulator: Simulator

    /// The control API of a simulator.
    package init(_ simulator: Simulator) { self.simulator = simulator }

    /// The routes; every error response is JSON.
    package var service: Service {
        var router = Router()
        router.onSync(.get, "/health") { _ in Self.ok() }
        on(&router, .get, "/tokens", getTokens)
        on(&router, .put, "/tokens", putTokens)
        on(&router, .delete, "/tokens", deleteTokens)
        on(&router, .get, "/rules", getRules)
        on(&router, .put, "/rules", putRules)
        on(&router, .delete, "/rules", deleteRules)
        on(&router, .get, "/webpush/subscriptions") { _ in subscriptions() }
        on(&router, .post, "/webpush/subscriptions", postSubscription)
        on(&router, .delete, "/webpush/subscriptions", deleteSubscription)
        on(&router, .get, "/limits") { _ in limits() }
        router.on(.put, "/limits") { request, _ in await putLimits(request) }
        router.on(.delete, "/limits") { _, _ in
            simulator.shared.withLock { $0.state.resetSettings() }
            await simulator.applySettings()
            return limits()
        }
        on(&router, .get, "/stats") { _ in
            Self.ok(simulator.shared.withLock { $0.state.statisticsJSON })
        }
        router.on(.get, "/pushes") { request, loop in await getPushes(request, on: loop) }
        router.on(.get, "/connections") { _, _ in
            Self.ok(["connections": .array(await simulator.connections().map(\.json))])
        }
        for name in ConnectionCommand.Name.allCases {
            router.on(.post, "/" + name.rawValue) { request, _ in await command(name, request) }
        }
        router.on(.post, "/reset") { _, _ in await reset() }
        return Service(router: router) { refusal, _ in
            Self.problem(ControlError(refusal.sentence, status: refusal.status.rawValue))
        }
    }

    private func on(
        _ router: inout Router, _ method: Method, _ path: String,
        _ handler: @escaping @Sendable (Request) throws(ControlError) -> Response
    ) {
        router.onSync(method, path) { request in
            do throws(ControlError) {
                return try handler(request)
            } catch {
                return Self.problem(error)
            }
        }
    }

    // MARK: Limits and connections

    private func limits() -> Response { Self.ok(simulator.shared.withLock { $0.state.settings.json }) }

    private func putLimits(_ request: Request) async -> Response {
        do throws(ControlError) {
            let value = try Self.body(request)
            try simulator.shared.withLock { shared throws(ControlError) in
                try shared.state.settings.update(value)
            }
        } catch {
            return Self.problem(error)
        }
        await simulator.applySettings()
        return limits()
    }

    private func command(_ name: ConnectionCommand.Name, _ request: Request) async -> Response {
        do throws(ControlError) {
            let value = request.body.isEmpty ? [:] : try Self.body(request)
            let (command, target) = try ConnectionCommand.read(name, value)
            return Self.ok(["connections": .int(await simulator.apply(command, to: target))])
        } catch {
            return Self.problem(error)
        }
    }

    private func reset() async -> Response {
        simulator.shared.withLock { $0.state.reset() }
        await simulator.applySettings()
        _ = await simulator.apply(.resume, to: ConnectionTarget())
        return Self.ok()
    }

    // MARK: Answers

    static func body(_ request: Request) throws(ControlError) -> JSON.Value {
        do throws(JSON.ParseError) {
            return try JSON.parse(request.body, maxBytes: bodyBytesMax)
        } catch {
            throw ControlError("the body is not JSON: \(error)")
        }
    }

    static func ok(_ value: JSON.Value = [:]) -> Response {
        var object: JSON.Value = ["ok": true]
        for member in value.object?.members ?? [] { object = object.adding(member.name, member.value) }
        return json(object, status: .ok)
    }

    static func problem(_ problem: ControlError) -> Response {
        json(["ok": false, "error": .string(problem.sentence)], status: Status(rawValue: problem.status))
    }

    private static func json(_ value: JSON.Value, status: Status) -> Response {
        Response(
            status: status, contentType: "application/json", body: value.encoded() + [UInt8(ascii: "\n")])
    }
}

extension JSON.Value {
    fileprivate func adding(_ name: String, _ value: JSON.Value) -> JSON.Value {
        guard var object else { return self }
        object[name] = value
        return .object(object)
    }
}
