import ChildProcess
import Glibc
import HTTP2Testing
import JSON
import Network
import Testing

@testable import WebPush

@Suite("The sender", .timeLimit(.minutes(3)))
struct SenderTests {
    @Test("1,000 pushes share few connections with HTTP/2", arguments: ["h2", "h1"])
    func crowd(_ mode: String) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service(mode, files)
            let sender = try service.sender(on: loop)
            let pushes = try (0..<1_000).map { try service.push("/push/\($0)") }
            let outcomes = await sender.send(pushes, on: loop)
            #expect(outcomes.filter { $0 == .accepted }.count == 1_000)
            #expect(sender.statistics.accepted == 1_000)
            #expect(sender.statistics.connectionsOpened <= 4)
            #expect(sender.statistics.pushesUnderWay == 0)
            #expect(sender.statistics.pushesWaiting == 0)
            await sender.stop(deadline: .seconds(5))
            #expect(sender.statistics.connectionsOpen == 0)
            let seen = try service.stop()
            #expect(seen["requests"]?.int == 1_000)
            #expect(seen["protocols"]?[mode == "h2" ? "2.0" : "1.1"]?.int == 1_000)
            #expect((0..<1_000).allSatisfy { seen["paths"]?["/push/\($0)"]?.int == 1 })
        }
    }

    @Test("nghttpd accepts every push")
    func nghttpd() async throws {
        let files = try CertificateFiles()
        let folder = try makeTemporaryDirectory()
        close(creat(folder + "/push", 0o644))
        try await withLoop { loop in
            let reserved = try ReservedPort()
            defer { withExtendedLifetime(reserved) {} }
            let port = reserved.number
            let server = try ExternalProgram.nghttpd.start([
                "--htdocs", folder, "--max-concurrent-streams", "50", "\(port)", files.key, files.certificate,
            ])
            defer { server.stop() }
            var settings = SenderSettings()
            settings.caFile = files.certificate
            settings.pushTimeout = .seconds(60)
            settings.failuresBeforeRefusing = 10_000
            let sender = Sender(
                tokens: VAPIDTokenSource(subject: try VAPIDSubject("mailto:push@example.com")),
                hosts: try HostRule(more: ["localhost:\(port)"]), on: loop, settings: settings)
            let push = try Service.push(to: "https://localhost:\(port)/push")
            // Repeats until the server listens.
            while await sender.send(push) != .accepted {}
            let outcomes = await sender.send(Array(repeating: push, count: 1_000), on: loop)
            #expect(outcomes.filter { $0 == .accepted }.count == 1_000)
            await sender.stop(deadline: .seconds(5))
        }
    }

    @Test("a request has its fields, its query and its body")
    func request() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h2", files)
            let sender = try service.sender(on: loop)
            let topic = Topic(collapseID: "build", key: [1])
            #expect(
                await sender.send(try service.push("/a/../b/?token=%2f%3D", "hi", topic: topic)) == .accepted)
            await sender.stop(deadline: .seconds(5))
            let seen = try service.stop()
            #expect(seen["paths"]?["/a/../b/?token=%2f%3D"]?.int == 1)
            let last = try #require(seen["last"])
            #expect(last["method"]?.string == "POST")
            #expect(last["bytes"]?.int == 2 + MessageEncryption.overheadBytes)
            #expect(last["ttl"]?.string == "60")
            #expect(last["urgency"]?.string == "high")
            #expect(last["topic"]?.string == topic.text)
            #expect(last["content-encoding"]?.string == "aes128gcm")
            #expect(last["content-type"]?.string == "application/octet-stream")
            #expect(last["authorization"]?.string?.hasPrefix("vapid t=eyJ") == true)
            #expect(last["expect"] == nil)
            #expect(last["accept"] == nil)
        }
    }

    @Test(
        "answers become outcomes; a redirect isn't followed; the end of a huge answer isn't awaited",
        arguments: ["h2", "h1"])
    func answers(_ mode: String) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service(mode, files)
            let sender = try service.sender(on: loop)
            func rejection(_ path: String) async throws -> Rejection? {
                guard case .rejected(let rejection) = await sender.send(try service.push(path)) else {
                    return nil
                }
                return rejection
            }
            let gone = try await rejection("/gone")
            #expect(gone == Rejection(kind: .gone, status: 410, service: .other))
            let later = try await rejection("/later")
            #expect(later == Rejection(kind: .later, status: 503, service: .other, retryAfter: 120))
            let date = try #require(try await rejection("/date")?.retryAfter)
            #expect((30...91).contains(date))
            let redirect = try await rejection("/redirect")
            #expect(redirect == Rejection(kind: .refused, status: 307, service: .other))
            let huge = try await rejection("/huge")
            #expect(huge == Rejection(kind: .tooLarge, status: 413, service: .other))
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            await sender.stop(deadline: .seconds(5))
            #expect(try service.stop()["paths"]?["/ok"]?.int == 1)
        }
    }

    @Test("a stop ends what is under way and closes every connection")
    func stop() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h2", files)
            defer { _ = try? service.stop() }
            let sender = try service.sender(on: loop)
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            var outcomes: [Outcome] = []
            for _ in 0..<500 { sender.send(try service.push("/stall")) { outcomes.append($0) } }
            let watch = Watch(on: loop)
            sender.send(try service.push("/ok")) { _ in watch.changed() }
            await sender.stop(deadline: .milliseconds(300))
            #expect(outcomes.count == 500)
            #expect(
                outcomes.allSatisfy {
                    $0 == .unreachable(.unknown, .shuttingDown) || $0 == .unreachable(.notSent, .shuttingDown)
                })
            #expect(sender.statistics.connectionsOpen == 0)
            #expect(sender.statistics.pushesUnderWay == 0)
            #expect(await sender.send(try service.push("/ok")) == .unreachable(.notSent, .shuttingDown))
        }
    }

    @Test("a full queue refuses pushes, by number and by size")
    func fullQueue() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h2", files)
            defer { _ = try? service.stop() }
            let sender = try service.sender(on: loop) { $0.queuedMax = 10 }
            let outcomes = await sender.send(try (0..<11).map { try service.push("/\($0)") }, on: loop)
            #expect(outcomes.filter { $0 == .unreachable(.notSent, .queueFull) }.count == 1)
            #expect(outcomes.filter { $0 == .accepted }.count == 10)
            await sender.stop(deadline: .seconds(5))
            let small = try service.sender(on: loop) { $0.queuedBytesMax = 1_000 }
            let large = try service.push("/ok", String(repeating: "x", count: 600))
            let two = await small.send([large, large], on: loop)
            #expect(two == [.unreachable(.notSent, .queueFull), .accepted])
            await small.stop(deadline: .seconds(5))
        }
    }
}
