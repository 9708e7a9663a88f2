import JSON
import Network
import Programs
import PushSealing
import WebClient

/// `agent-bridge check`: checks every step from the server to the phone.
enum CheckCommand {
    /// Prints a line for each step, with advice if it failed.
    static func run(_ call: CommandCall) throws(ConfigurationError) -> ExitStatus {
        let (configuration, console) = (try call.configuration(), call.console)
        let environment = call.environment
        let access = try RelayAccess(configuration)
        let place = ServerPlace.find(given: configuration.openCode, environment: environment) {
            ServiceFiles.read(environment)
        }
        return CommandTask.run {
            var findings: [Finding] = []
            var isHere = true
            if let place { (findings, isHere) = await server(place) }
            findings += await relay(access)
            findings.append(texts(access))
            if let warning = access.warning { findings.append(.good("warning: \(warning)")) }
            findings.append(bridge(configuration, isNeeded: isHere))
            findings += HookFaults(directory: configuration.stateDirectory).sentences.map(Finding.fault)
            for finding in findings { console.print(finding.line) }
            return findings.contains { !$0.isGood } ? .failed : .success
        }
    }

    /// The result of a step.
    struct Finding: Sendable, Equatable {
        let isGood: Bool
        let text: String

        static func good(_ text: String) -> Finding { Finding(isGood: true, text: text) }
        static func fault(_ text: String) -> Finding { Finding(isGood: false, text: text) }

        var line: String { (isGood ? "ok     " : "FAULT  ") + Printable.line(text) }
    }

    // MARK: The server

    /// The findings about the server, and whether one is running or configured.
    private static func server(_ place: ServerPlace) async -> ([Finding], Bool) {
        let source =
            switch place.origin {
            case .setting: "as set"
            case .serviceFile(let path): "from \(path)"
            case .standard: "OpenCode's standard address"
            }
        do throws(ServerError) {
            let client = try await OpenCodeClient.connect(place, ServerMemory())
            let found = Finding.good("server: OpenCode \(client.version) at \(place.address) (\(source))")
            return ([found, await stream(client)] + (await lists(client)), true)
        } catch {
            if let absence = absence(of: place, error) { return ([absence], false) }
            return ([.fault("server at \(place.address) (\(source)): \(error)")], true)
        }
    }

    /// The finding if there is no server and none is configured: other agents' hooks don't need a server.
    static func absence(of place: ServerPlace, _ fault: ServerError) -> Finding? {
        guard case .unreachable(_, false) = fault, place.origin == .standard else { return nil }
        return .good(
            "server: none at \(place.address), so only hooks ring. For OpenCode, start `opencode --port 4096` "
                + "(without --port, `opencode` doesn't listen), or `opencode serve` and `opencode attach`, or set "
                + "--opencode-url")
    }

    /// Checks whether the server can list its open requests.
    private static func lists(_ client: OpenCodeClient) async -> [Finding] {
        do throws(ServerError) {
            _ = try await client.snapshot(isFirst: true)
        } catch {
            return [.fault("open requests: \(error)")]
        }
        return client.memory.unlisted.map { .fault("open requests: " + ServerMemory.unlistedReport($0)) }
    }

    private static func stream(_ client: OpenCodeClient) async -> Finding {
        let hasBegun = Lock(false)
        let isOver = Lock(false)
        let stream = ServerStream(client: client, silenceLimit: Bounds.checkStreamDeadline) { _ in
            // The first frame is enough; refusing it ends the stream.
            false
        } connected: {
            hasBegun.withLock { $0 = true }
            isOver.withLock { $0 = true }
        }
        let task = Task { () async -> ServerError? in
            defer { isOver.withLock { $0 = true } }
            do throws(ServerError) {
                _ = try await stream.run()
                return nil
            } catch {
                return error
            }
        }
        let end = MonotonicTime.current + Bounds.checkStreamDeadline
        while !isOver.withLock({ $0 }), MonotonicTime.current < end {
            guard (try? await Task.sleep(for: .milliseconds(100))) != nil else { break }
        }
        task.cancel()
        let fault = await task.value
        if hasBegun.withLock({ $0 }) { return .good("event stream: alive") }
        return .fault(
            "event stream: \(fault?.description ?? "no event received; restart or update the OpenCode server")"
        )
    }

    // MARK: The relay

    private static func relay(_ access: RelayAccess) async -> [Finding] {
        let relay = access.relay
        do throws(WebFailure) {
            var request = WebRequest(url: relay.address.text + "/ready", timeout: Bounds.checkDeadline)
            request.isLocal = relay.address.isLoopback
            if let caFile = relay.caFile { request.trust = .file(caFile) }
            let ready = readiness(try await WebClient.send(request), relay.address)
            guard ready.isGood else { return [ready] }
            let body = (["secret": .string(relay.secret)] as JSON.Value).encoded()
            let listed = try await relay.ask("/v1/device/list", body, deadline: Bounds.checkDeadline)
            return [ready] + devices(listed, isSealing: access.sealer != nil)
        } catch {
            let advice =
                switch error.kind {
                case .name: "check the host in --relay-url"
                case .connect: "start the relay, or check host and port in --relay-url"
                case .tls: "renew the relay's certificate, or name its authority with --relay-ca-file"
                case .timeout: "check the network and the relay's load"
                case .url, .answer: "check --relay-url"
                }
            return [.fault("relay at \(relay.address): \(error); \(advice)")]
        }
    }

    /// The finding from the response to `/ready`.
    static func readiness(_ answer: WebAnswer, _ address: WebAddress) -> Finding {
        let body = try? JSON.parse(answer.body, maxBytes: Bounds.postAnswerBytesMax)
        guard let checks = body?["checks"]?.object else {
            return .fault(
                "relay at \(address): status \(answer.status) is not a relay's response; check --relay-url")
        }
        let faults = checks.members.filter { $0.value.string != "ok" }
            .map { "\(Console.safe($0.name)) is \(Console.safe($0.value.string ?? "?"))" }
        guard answer.status == 200, faults.isEmpty else {
            return .fault(
                "relay at \(address) isn't ready: \(faults.joined(separator: ", ")); its operator can run "
                    + "`relay check`")
        }
        return .good("relay: ready at \(address)")
    }

    /// The findings from the response to `/v1/device/list`.
    static func devices(_ answer: WebAnswer, isSealing: Bool) -> [Finding] {
        let body = try? JSON.parse(answer.body, maxBytes: Bounds.postAnswerBytesMax)
        guard answer.status == 200, let devices = body?["devices"]?.array else {
            let reason = Console.safe(body?["error"]?.string ?? "status \(answer.status)")
            return [.fault("secret: the relay refused it: \(reason)")]
        }
        guard !devices.isEmpty else {
            return [
                .fault(
                    "devices: none is registered under this secret; scan the code of `agent-bridge pair` with "
                        + "the app, and open it once")
            ]
        }
        return devices.map { device in
            let name = Console.safe(device["deviceName"]?.text ?? device["device"]?.string ?? "?")
            let opens = device["sealed"]?.array?.contains { $0.int == Envelope.version } ?? false
            let note = isSealing && !opens ? "; its app can't open sealed texts and shows general ones" : ""
            guard let last = device["lastPush"] else { return .good("device \(name): no push yet\(note)") }
            let status = last["status"]?.string ?? "?"
            let reason = last["reason"]?.string.map { ": " + $0 } ?? ""
            let text = Console.safe("last push \(status)\(reason)") + note
            return status == "failed"
                ? .fault(
                    "device \(name): \(text); open the app, or see the relay's docs/reference/api.md")
                : .good("device \(name): \(text)")
        }
    }

    // MARK: This machine

    /// Reports who can read texts; this is never a fault.
    private static func texts(_ access: RelayAccess) -> Finding {
        if access.sealer != nil { return .good("texts: sealed; only paired phones can read them") }
        let reason = access.secret.key == nil ? "the secret has no key" : "--no-seal"
        return .good("texts: readable for the relay and Apple (\(reason))")
    }

    private static func bridge(_ configuration: Configuration, isNeeded: Bool) -> Finding {
        do throws(FileError) {
            let free = try QueueOwnership(directory: configuration.stateDirectory)
            guard free != nil else { return .good("bridge: serving") }
            return isNeeded
                ? .fault("bridge: not running; start `agent-bridge serve`")
                : .good("bridge: not running; hooks ring without it")
        } catch {
            return .fault("bridge: \(configuration.stateDirectory) can't be used: \(error)")
        }
    }
}

extension BridgeCommand {
    static let check = BridgeCommand("check", "Find out why nothing rings.") {
        call throws(ConfigurationError) in
        try CheckCommand.run(call)
    }
}
