import HTTP2
import HTTP2Testing
import Network
import Testing

@Suite("The server with other clients", .timeLimit(.minutes(5)))
struct InteroperabilityTests {
    @Test("curl gets an answer")
    func curl() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let server = try ScriptedServer(on: loop, certificate: files)
            var bodies: [[UInt8]] = []
            server.onRequest = { incoming in
                bodies.append(incoming.request.body)
                incoming.connection.respond(
                    to: incoming.stream, HeaderFields(status: 410),
                    body: Array(#"{"reason":"Unregistered"}"#.utf8))
            }
            let (output, status) = try await ExternalProgram.curl.run([
                "--silent", "--show-error", "--http2", "--cacert", files.certificate, "--data",
                #"{"aps":{}}"#,
                "--write-out", " %{http_version} %{http_code}",
                "https://localhost:\(server.endpoint.port)/3/device/00",
            ])
            #expect(status == 0)
            #expect(output == #"{"reason":"Unregistered"} 2 410"#)
            #expect(bodies == [Array(#"{"aps":{}}"#.utf8)])
            server.close()
        }
    }

    @Test("several large uploads and downloads of curl complete at the same time")
    func curlParallel() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            var limits = ServerLimits()
            limits.bodyBytes = 4_000_000
            let chosen = limits
            let server = try ScriptedServer(on: loop, certificate: files, limits: { chosen })
            server.onRequest = { incoming in
                incoming.connection.respond(
                    to: incoming.stream, HeaderFields(status: 200), body: incoming.request.body)
            }
            let url = "https://localhost:\(server.endpoint.port)/"
            var arguments = [
                "--silent", "--show-error", "--http2", "--parallel", "--cacert", files.certificate,
            ]
            for _ in 0..<5 {
                arguments += ["--data-binary", "@/proc/self/exe", "--output", "/dev/null", url]
            }
            arguments += ["--write-out", "%{http_code} %{size_upload} %{size_download}\n"]
            let (output, status) = try await ExternalProgram.curl.run(arguments)
            #expect(status == 0, "\(output)")
            #expect(server.received.values.reduce(0, +) >= 1)
            // During transfers that take a second, curl prints its progress meter between the lines.
            let lines = output.split(whereSeparator: \.isNewline).map { $0.split(separator: " ") }
            let figures = lines.filter { (words: [Substring]) in words.count == 3 && words[0] == "200" }
            #expect(!figures.isEmpty, "\(output)")
            for figure in figures { #expect(figure[1] == figure[2], "\(output)") }
            server.close()
        }
    }

    @Test("h2load gets an answer to every request")
    func h2load() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let server = try ScriptedServer(on: loop, certificate: files)
            let (output, status) = try await ExternalProgram.h2load.run([
                "-n", "20000", "-c", "4", "-m", "100", "-H", "apns-id: one",
                "https://127.0.0.1:\(server.endpoint.port)/3/device/00",
            ])
            #expect(status == 0)
            #expect(output.contains("20000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(output)")
            #expect(server.received == ["one": 20000])
            #expect(server.acceptedCount == 4)
            server.close()
        }
    }

    @Test("a client that doesn't offer HTTP/2 is disconnected")
    func noHTTP2() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let server = try ScriptedServer(on: loop, certificate: files)
            let (_, status) = try await ExternalProgram.curl.run([
                "--silent", "--http1.1", "--cacert", files.certificate,
                "https://localhost:\(server.endpoint.port)/",
            ])
            #expect(status != 0)
            #expect(await server.watch.wait(on: loop) { server.ends.count == 1 })
            #expect(server.acceptedCount == 0)
            server.close()
        }
    }
}
