import Glibc
import Network
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ChannelTests {
    /// Echoes received bytes and closes after the peer has closed its side.
    static func echo() -> Recorder {
        let recorder = Recorder()
        recorder.onBytes = { channel, bytes in channel.write(bytes) }
        return recorder
    }

    static func listen(
        on loop: EventLoop, tls: TLSServerContext? = nil,
        _ handler: @escaping (Channel) -> (any ChannelHandler)?
    ) throws -> (Listener, Endpoint) {
        var options = Listener.Options()
        options.tls = tls
        let listener = try Listener(try #require(loopback), on: loop, options: options, accept: handler)
        return (listener, Endpoint(host: "127.0.0.1", port: listener.localAddress.port))
    }

    @Test(
        "Bytes are transferred in both directions and both sides see an orderly close",
        arguments: [false, true])
    func echoes(tls: Bool) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let context =
                tls
                ? try TLSServerContext(
                    certificateFile: files.certificate, keyFile: files.key, alpn: ["h2", "x"])
                : nil
            let server = Self.echo()
            let (listener, endpoint) = try Self.listen(on: loop, tls: context) { _ in server }
            let client = Recorder()
            client.onActive = { $0.write(Array("hello".utf8)) }
            client.onBytes = { [unowned client] channel, _ in
                if client.seen.bytes.count == 5 { channel.closeAfterFlush(deadline: .seconds(2)) }
            }
            let trusted = tls ? try TLSClientContext(caFile: files.certificate, alpn: ["h2"]) : nil
            _ = Channel.connect(to: endpoint, tls: trusted, on: loop, timeout: .seconds(5), handler: client)
            let mine = await client.wait(on: loop) { $0.closed != nil }
            let theirs = await server.wait(on: loop) { $0.closed != nil }
            #expect(mine.bytes == Array("hello".utf8))
            #expect(mine.closed == .local)
            #expect(theirs.readEnded)
            #expect(theirs.closed == .local)
            #expect(mine.alpn == (tls ? "h2" : nil))
            listener.close()
        }
    }

    @Test("4 MB arrive intact although the reader keeps pausing", arguments: [false, true])
    func bulk(tls: Bool) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let context =
                tls
                ? try TLSServerContext(certificateFile: files.certificate, keyFile: files.key, alpn: []) : nil
            let total = 4_000_000
            let server = Recorder()
            var sent = 0
            func fill(_ channel: Channel) {
                while channel.isWritable && sent < total {
                    let chunk = (0..<min(50_000, total - sent)).map {
                        UInt8(truncatingIfNeeded: ($0 + sent) % 251)
                    }
                    sent += chunk.count
                    channel.write(chunk)
                }
                if sent == total { channel.closeAfterFlush(deadline: .seconds(20)) }
            }
            server.onActive = fill
            server.onWritable = fill
            let (listener, endpoint) = try Self.listen(on: loop, tls: context) { _ in server }
            let client = Recorder()
            var turns = 0
            client.onBytes = { channel, _ in
                turns += 1
                guard turns % 7 == 0 else { return }
                channel.pauseReading()
                loop.atTurnEnd { channel.resumeReading() }
            }
            let trusted = tls ? try TLSClientContext(caFile: files.certificate, alpn: []) : nil
            _ = Channel.connect(to: endpoint, tls: trusted, on: loop, timeout: .seconds(5), handler: client)
            let seen = await client.wait(on: loop) { $0.closed != nil }
            #expect(seen.bytes.count == total)
            #expect(
                !seen.bytes.enumerated().contains { UInt8(truncatingIfNeeded: $0.offset % 251) != $0.element }
            )
            listener.close()
        }
    }

    @Test("A client refuses an untrusted certificate or one for another name")
    func verification() async throws {
        let files = try CertificateFiles()
        let others = try CertificateFiles()
        try await withLoop { loop in
            let context = try TLSServerContext(
                certificateFile: files.certificate, keyFile: files.key, alpn: [])
            let (listener, endpoint) = try Self.listen(on: loop, tls: context) { _ in Self.echo() }
            func reason(_ caFile: String, host: String) async throws -> String {
                let client = Recorder()
                let trusted = try TLSClientContext(caFile: caFile, alpn: [])
                let there = Endpoint(host: host, port: endpoint.port)
                _ = Channel.connect(to: there, tls: trusted, on: loop, timeout: .seconds(5), handler: client)
                let seen = await client.wait(on: loop) { $0.closed != nil || $0.isActive }
                return seen.isActive ? "accepted" : seen.closed?.description ?? ""
            }
            #expect(try await reason(files.certificate, host: "localhost") == "accepted")
            #expect(try await reason(others.certificate, host: "localhost").contains("certificate refused"))
            try files.renew(names: ["elsewhere.test"])
            try context.reload()
            #expect(try await reason(files.certificate, host: "localhost").contains("hostname mismatch"))
            listener.close()
        }
    }

    @Test("A listener with a new certificate keeps its open connections")
    func reload() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let context = try TLSServerContext(
                certificateFile: files.certificate, keyFile: files.key, alpn: [])
            let (listener, endpoint) = try Self.listen(on: loop, tls: context) { _ in Self.echo() }
            let client = Recorder()
            let trusted = try TLSClientContext(caFile: files.certificate, alpn: [])
            let channel = Channel.connect(
                to: endpoint, tls: trusted, on: loop, timeout: .seconds(5), handler: client)
            _ = await client.wait(on: loop) { $0.isActive }
            try files.renew()
            try context.reload()
            channel.write([1, 2, 3])
            let seen = await client.wait(on: loop) { $0.bytes.count == 3 || $0.closed != nil }
            #expect(seen.bytes == [1, 2, 3])
            // New connections present a certificate that the old authority did not sign.
            let second = Recorder()
            _ = Channel.connect(to: endpoint, tls: trusted, on: loop, timeout: .seconds(5), handler: second)
            #expect(await second.wait(on: loop) { $0.closed != nil }.isActive == false)
            channel.close()
            listener.close()
        }
    }

    @Test("A refused connection, a silent server and an unknown name each have their own close reason")
    func failures() async throws {
        try await withLoop { loop in
            let (listener, endpoint) = try Self.listen(on: loop) { _ in Recorder() }
            let trusted = try TLSClientContext(caFile: nil, alpn: [])
            let silent = Recorder()
            _ = Channel.connect(
                to: endpoint, tls: trusted, on: loop, timeout: .milliseconds(100), handler: silent)
            #expect(await silent.wait(on: loop) { $0.closed != nil }.closed == .connectTimeout)
            listener.close()
            // Port 1, tcpmux, on which hardly any machine listens.
            let closed = Endpoint(host: "127.0.0.1", port: 1)
            let refused = Recorder()
            _ = Channel.connect(to: closed, tls: nil, on: loop, timeout: .seconds(5), handler: refused)
            let reason = await refused.wait(on: loop) { $0.closed != nil }.closed
            #expect(reason == .connectFailed(errno: ECONNREFUSED))
            for host in ["127.0.0.1", "localhost"] {
                let hidden = Recorder()
                let channel = Channel.connect(
                    to: Endpoint(host: host, port: endpoint.port), onlyPublic: true, tls: nil, on: loop,
                    timeout: .seconds(5), handler: hidden)
                #expect(await hidden.wait(on: loop) { $0.closed != nil }.closed == .notPublic)
                #expect(channel.stage == .name)
            }
            let unknown = Recorder()
            let nowhere = Endpoint(host: "nowhere.invalid", port: 1)
            // The name server may be slow, and other tests' lookups wait for the shared resolver's only thread. Lookups with
            // `onlyPublic` have threads of their own.
            _ = Channel.connect(
                to: nowhere, onlyPublic: true, tls: nil, on: loop, timeout: .seconds(20), handler: unknown)
            let words = await unknown.wait(on: loop) { $0.closed != nil }.closed?.description
            #expect(words?.hasPrefix("name not resolved") == true)
        }
    }

    @Test("A peer that stops reading is disconnected at the deadline of the last flush")
    func stalledPeer() async throws {
        try await withLoop { loop in
            let server = Recorder()
            server.onActive = { channel in
                channel.write([UInt8](repeating: 7, count: 30_000_000))
                channel.closeAfterFlush(deadline: .milliseconds(100))
            }
            let (listener, endpoint) = try Self.listen(on: loop) { _ in server }
            let client = Recorder()
            client.onActive = { $0.pauseReading() }
            let channel = Channel.connect(
                to: endpoint, tls: nil, on: loop, timeout: .seconds(5), handler: client)
            #expect(await server.wait(on: loop) { $0.closed != nil }.closed == .flushTimeout)
            channel.close()
            listener.close()
        }
    }

    @Test("A second listener on a port fails with addressInUse")
    func inUse() async throws {
        try await withLoop { loop in
            let (listener, endpoint) = try Self.listen(on: loop) { _ in nil }
            let address = try #require(SocketAddress(ip: endpoint.host, port: endpoint.port))
            #expect(throws: NetworkError.addressInUse(address.description)) {
                try Listener.checkFree(address)
            }
            listener.close()
            try Listener.checkFree(address)
        }
    }

    @Test("An unusable certificate is named in the error, and a failed reload keeps the old one")
    func badCertificates() throws {
        let files = try CertificateFiles()
        let others = try CertificateFiles()
        #expect(throws: NetworkError.keyMismatch(certificate: files.certificate, key: others.key)) {
            try TLSServerContext(certificateFile: files.certificate, keyFile: others.key, alpn: [])
        }
        #expect(throws: NetworkError.badCertificate(files.key)) {
            try TLSServerContext(certificateFile: files.key, keyFile: files.key, alpn: [])
        }
        #expect(throws: NetworkError.badKey(files.certificate)) {
            try TLSServerContext(certificateFile: files.certificate, keyFile: files.certificate, alpn: [])
        }
        #expect(throws: NetworkError.unreadable(path: "/nowhere/at/all", errno: ENOENT)) {
            try TLSServerContext(certificateFile: "/nowhere/at/all", keyFile: files.key, alpn: [])
        }
    }
}
