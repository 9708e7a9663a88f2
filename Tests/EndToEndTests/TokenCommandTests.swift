import ChildProcess
import JSON
import Testing

@Suite("Access tokens", .timeLimit(.minutes(5)))
struct TokenCommandTests {
    @Test("are listed and revoked by operators while the relay runs", arguments: CommandTests.databases)
    func lifecycle(_ server: ServerUnderTest?) async throws {
        let secret = "a secret of the test"
        let directory = try TemporaryDirectory()
        // The address at which commands reach the relay; on SQLite, only the relay may change the file.
        var settings = ["RELAY_ADMIN_LISTEN": "unix:" + directory.file("admin.sock")]
        if let server { settings["DATABASE_URL"] = try server.makeDatabase() }
        try await Stack.run(settings) { stack in
            try await stack.register(secret, token(1))
            var body = JSON.Object()
            body["secret"] = .string(secret)
            body["scope"] = "send"
            body["name"] = "CI"
            let made = try await stack.http.post("/v1/token/create", body).json()
            let id = try #require(made["tokenID"]?.string)
            let given = ["RELAY_SECRET": secret]
            let listed = try await CommandRun(["tokens", "--json"], on: stack, given).json()
            #expect(listed["tokens"]?.array?.map { $0["tokenID"] } == [.string(id)])
            let text = try await CommandRun(["tokens"], on: stack, given)
            #expect(text.status == 0 && text.output.contains("CI") && text.output.contains(id))
            #expect(try !text.output.contains(#require(made["token"]?.string)))
            let wrong = try await CommandRun(["tokens", "--revoke", "CI"], on: stack, given)
            #expect(wrong.status == 64)
            let revoked = try await CommandRun(["tokens", "--revoke", id], on: stack, given)
            #expect(revoked.status == 0 && revoked.output.contains(": revoked"))
            let again = try await CommandRun(["tokens", "--revoke", id, "--json"], on: stack, given)
            #expect(try again.json() == ["ok": true, "revoked": 0])
        }
    }
}
