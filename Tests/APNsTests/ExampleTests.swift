import APNs
import HTTP2Testing
import Network
import Testing

/// The example in the module's documentation, line by line.
@Suite("Example of APNs", .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a client sends a push")
    func client() async throws {
        try await withLoop { loop in
            let files = try CertificateFiles()
            let server = try ScriptedServer(on: loop, certificate: files)
            let endpoint = server.endpoint
            let tls = try TLSClientContext(caFile: files.certificate, alpn: ["h2"])
            let key = KeyText(try SelfSignedCertificate().privateKey)
            let topic = try #require(Topic("com.example.app"))
            let deviceToken = try #require(DeviceToken("00fc13ad"))
            let id = "0f8b1c1e-4a0c-4d0e-9b53-6c1f2b7f6a55"

            let credentials = try ProviderCredentials(teamID: "ABCDE12345", keyID: "KEY1234567", key: key)
            let client = Client(
                endpoint: endpoint, tls: tls, tokens: ProviderTokenSource(credentials), on: loop)
            let notification = Notification(
                topic: topic, expiration: 0, payload: Array(#"{"aps":{"alert":"Build finished"}}"#.utf8))
            let outcome = await client.send(Push(notification, to: deviceToken, id: id))
            switch outcome {
            case .accepted: break
            case .rejected(let rejection): print("APNs refused the push: \(rejection.name)")
            case .unreachable(let unreachable): print("APNs did not answer: \(unreachable.cause.rawValue)")
            }
            await client.stop(deadline: .seconds(5))

            #expect(outcome == .accepted(apnsID: id, uniqueID: nil))
            server.close()
            #expect(await server.watch.wait(on: loop) { server.connections.isEmpty })
        }
    }
}
