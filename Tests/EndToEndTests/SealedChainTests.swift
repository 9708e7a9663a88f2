import ChildProcess
import Foundation
import JSON
import Network
import PushSealing
import Testing

@Suite("From the agent to the phone, sealed", .timeLimit(.minutes(5)))
struct SealedChainTests {
    /// Words of an event that only the phone may see.
    private static let words = ["Fix auth", "The tests pass"]

    @Test(
        "the phone reads the text; relay, queue, database and logs never have it", arguments: [1, 2])
    func sealed(generation: Int) async throws {
        let key = PairingSecret()
        let port = try ReservedPort()
        let settings = ["PORT": String(port.number)]
        try await Chain.run(generation: generation, relaySettings: settings, key: key) { chain in
            try await chain.stack.relay.stop()
            let before = chain.stack.relay.output
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            try await chain.does(
                "end", ["id": "ses_1", "outcome": "completed", "text": "The tests pass."])
            _ = try await chain.bridge.line("it needs the relay") { $0.contains("the relay doesn't answer") }
            let queue = try chain.queueFile()
            #expect(queue.contains(#""sealed":"A"#))
            // This relay would keep readable text.
            try await chain.stack.restartRelay([
                "RELAY_LOG_LEVEL": "debug", "RELAY_HISTORY_DAYS": "1", "RELAY_HISTORY_TEXT": "on",
            ])
            #expect(try await chain.titles(atLeast: 1) == ["Session complete"])

            let push = try #require(try await chain.stack.control.pushes(token: token(1)).first?["payload"])
            #expect(push["sessionID"] == "ses_1" && push["aps"]?["mutable-content"] == 1)
            let opened = try await chain.opened(push)
            #expect(opened["title"] == "Fix auth bug" && opened["body"] == "The tests pass.")
            #expect(opened["sessionID"] == "ses_1" && opened["serverID"] == push["serverID"])
            // The simulator reads the pairing's file.
            let shown = try await chain.stack.control.http.get("/pushes?format=text").text
            #expect(shown.contains("opened:") && shown.contains("Fix auth bug"), "\(shown)")

            let database = try chain.databaseBytes()
            #expect(database.firstRange(of: Array((push["sealed"]?.string ?? "?").utf8)) != nil)
            for word in Self.words {
                let said = [before, chain.stack.relay.output, chain.bridge.output, queue]
                #expect(!said.contains { $0.contains(word) }, "\(word)")
                #expect(!String(decoding: push.encoded(), as: UTF8.self).contains(word))
                #expect(database.firstRange(of: Array(word.utf8)) == nil, "\(word)")
            }
        }
        withExtendedLifetime(port) {}
    }

    @Test("a private session is sent as a hash: the same for all its events, in order")
    func privateSessions() async throws {
        let key = PairingSecret()
        try await Chain.run(generation: 2, ["BRIDGE_PRIVATE_SESSIONS": "on"], key: key) { chain in
            try await chain.does("session", ["id": "ses_real", "title": "Fix auth bug"])
            for outcome in ["completed", "failed"] {
                try await chain.does("begin", ["id": "ses_real"])
                try await chain.does("end", ["id": "ses_real", "outcome": .string(outcome)])
                _ = try await chain.titles(atLeast: outcome == "completed" ? 1 : 2)
            }
            let pushes = try await chain.stack.control.pushes(token: token(1)).compactMap { $0["payload"] }
            #expect(pushes.map { $0["eventType"] } == ["complete", "error"])
            for push in pushes {
                #expect(push["sessionID"]?.string == key.privateSessionID(of: "ses_real"))
                #expect(!String(decoding: push.encoded(), as: UTF8.self).contains("ses_real"))
                #expect(try await chain.opened(push)["sessionID"] == "ses_real")
            }
            // The delivery log contains the session shortly after the push.
            let visible = Array(key.privateSessionID(of: "ses_real").utf8)
            let database = try await eventually {
                try chain.databaseBytes()
            } until: {
                $0.firstRange(of: visible) != nil
            }
            #expect(database.firstRange(of: Array("ses_real".utf8)) == nil)
            #expect(!chain.stack.relay.output.contains("ses_real"))
        }
    }

    @Test("test, check and hooks also seal, and check says so")
    func commands() async throws {
        try await Chain.run(generation: 2, key: PairingSecret()) { chain in
            let rung = try await chain.command(["test"])
            #expect(rung.status == 0 && rung.output.contains("the text is sealed"), "\(rung.output)")
            let check = try await chain.command(["check"])
            #expect(check.status == 0 && check.output.contains("texts: sealed"), "\(check.output)")
            #expect(check.output.contains("its app can't open sealed texts"), "\(check.output)")
            let readable = try await chain.command(["check", "--no-seal"])
            #expect(readable.output.contains("texts: readable for the relay and Apple (--no-seal)"))
            #expect(!readable.output.contains("its app can't open"))
            let hook = ["hook", "generic", #"{"title":"Fix auth build","eventType":"error"}"#]
            #expect(try await chain.command(hook).status == 0)
            _ = try await chain.titles(atLeast: 2)
            try await chain.bridge.stop()
            #expect(try await chain.command(hook).status == 0)
            #expect(
                try await chain.titles(atLeast: 3) == ["Action needed", "Session error", "Session error"])
            #expect(try !chain.queueFile().contains("auth"))
            let pushes = try await chain.stack.control.pushes(token: token(1)).compactMap { $0["payload"] }
            var titles: [String] = []
            for push in pushes { titles.append(try await chain.opened(push)["title"]?.string ?? "none") }
            #expect(titles == ["Test of the bridge", "Error: Fix auth build", "Error: Fix auth build"])
            try await chain.restartBridge()
        }
    }
}

extension Chain {
    /// Opens a push with the JavaScript client, using the pairing that the phone scanned.
    ///
    /// The client shares no code with the program that seals.
    fileprivate func opened(_ push: JSON.Value) async throws -> JSON.Value {
        let client = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("clients/js/node.js")
        let script = """
            import { Envelope, Pairing, PushPayload } from "\(client.path)";
            const [link, payload] = process.argv.slice(1);
            const { keys } = await Pairing.parse(link);
            const { type, sealed } = PushPayload.read(JSON.parse(payload));
            const { content } = await Envelope.open({ keys, type, sealed });
            console.log(JSON.stringify(content));
            """
        let payload = String(decoding: push.encoded(), as: UTF8.self)
        let node = try Program(
            tool: "/usr/bin/env",
            ["node", "--input-type=module", "-e", script, "--", try await link(), payload])
        guard try await node.ended() == 0 else { throw Program.Failure(description: node.output) }
        return try JSON.parse(Array(node.output.utf8), maxBytes: 1 << 16)
    }

    /// The link that `agent-bridge pair` shows.
    private func link() async throws -> String {
        let lines = try await command(["pair", "--local"]).output.split(separator: "\n")
        return String(try #require(lines.first { $0.contains("/app/#pair=") }))
    }

    /// The bytes of SQLite's files, including the write-ahead log.
    fileprivate func databaseBytes() throws -> Data {
        let path = stack.directory.file("relay.db")
        let log = try? Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        return try Data(contentsOf: URL(fileURLWithPath: path)) + (log ?? Data())
    }
}
