import ChildProcess
import Foundation
import Programs
import PushSealing
import Testing

@testable import AgentBridge

@Suite("The secret of phones and bridge", .timeLimit(.minutes(2)))
struct SharedSecretTests {
    private func configuration(_ values: [String: String]) throws -> Configuration {
        let environment = values.merging(["HOME": "/home/ada"]) { given, _ in given }
        return try Configuration(
            .bridge(flags: [:], environment) { _ in .failure(FileError("none", isMissing: true)) })
    }

    @Test("the secret is made once, with a key, and only its user can read it")
    func made() throws {
        let directory = try TemporaryDirectory()
        let configuration = try configuration(["BRIDGE_STATE_DIRECTORY": directory.path + "/a/b"])
        let secret = try SecretFile.read(configuration)
        let key = try #require(secret.key)
        #expect(secret.relaySecret == key.relaySecret)
        #expect(try SecretFile.read(configuration) == secret)
        let path = directory.path + "/a/b/secret"
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "key:\(key.base64URL)\n")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path + "/a/b") == ["secret"])
        try SecretFile.replace(configuration, with: SharedSecret())
        #expect(try SecretFile.read(configuration) != secret)
    }

    @Test("a file that other users can read causes a warning")
    func openFile() throws {
        let directory = try TemporaryDirectory()
        let configuration = try configuration(["BRIDGE_STATE_DIRECTORY": directory.path])
        _ = try SecretFile.read(configuration)
        #expect(SecretFile.warning(configuration) == nil)
        for mode in [0o640, 0o604, 0o644, 0o660] {
            try FileManager.default.setAttributes(
                [.posixPermissions: mode], ofItemAtPath: directory.path + "/secret")
            #expect(SecretFile.warning(configuration)?.contains("chmod 600") == true)
        }
    }

    @Test("a configured file is created only by `agent-bridge pair`")
    func named() throws {
        let directory = try TemporaryDirectory()
        let configuration = try configuration(["BRIDGE_RELAY_SECRET_FILE": directory.path + "/new/secret"])
        let problem = #expect(throws: ConfigurationError.self) { try SecretFile.read(configuration) }
        #expect(problem?.problems.first?.contains("run `agent-bridge pair` to make it") == true)
        let secret = try SecretFile.read(configuration, makesGivenFile: true)
        #expect(try SecretFile.read(configuration) == secret)
    }

    @Test("a file has a pairing secret or only a relay's secret")
    func contents() throws {
        let key = PairingSecret()
        #expect(try SharedSecret(file: Array(" key:\(key.base64URL)\n".utf8)) == SharedSecret(key))
        for text in ["Kx3s0Q9-secret", "keys", "q83vASNFZ4k=", String(key.base64URL.dropLast())] {
            let secret = try SharedSecret(file: Array("\(text)\n".utf8))
            #expect(secret.relaySecret == text && secret.key == nil)
            #expect(try SharedSecret(file: secret.file) == secret)
        }
        for text in ["", "two words", "key:", "key:short", "key:\(key.base64URL)A", "secret:"] {
            #expect(throws: FileError.self) { try SharedSecret(file: Array(text.utf8)) }
        }
        // The prefix `secret:` marks a plain secret, whatever it looks like.
        let plain = try SharedSecret(file: Array("secret:\(key.base64URL)\n".utf8))
        #expect(plain.relaySecret == key.base64URL && plain.key == nil)
        #expect(try SharedSecret(file: plain.file) == plain)
    }

    @Test("a damaged key is refused, so that a key is never sent to the relay as a secret")
    func damaged() throws {
        let key = PairingSecret().base64URL
        let damaged = [
            "\u{201C}key:\(key)\u{201D}", "\u{FEFF}key:\(key)", "\u{A0}key:\(key)", "key：\(key)",
            "key:\(key.prefix(20))\u{200B}\(key.dropFirst(20))",
            "Key:\(key)", "KEY:\(key)", "kye:\(key)", "key=\(key)", "key;\(key)", "key\(key)", "Key-\(key)",
            "\"key:\(key)\"", "'key:\(key)'", "`key:\(key)`", "key:\(key);", "{\"key\":\"\(key)\"}",
            "key: \(key)", "my key:\(key)", "key:\(key) # phone", "key:\(key)\nkey:\(key)",
            "mobilevoice:///?pair=%7B\(key)", "pairing-key:\(key)", "export KEY=\(key)", key,
        ]
        for text in damaged {
            let fault = #expect(throws: FileError.self, "\(text.debugDescription)") {
                try SharedSecret(file: Array(text.utf8))
            }
            #expect(fault?.description.contains(key) != true)
        }
        let notUTF8: [UInt8] = Array("key:\(key)".utf8) + [0xFF]
        #expect(throws: FileError.self) { try SharedSecret(file: notUTF8) }
        let wide = Array("key:\(key)".utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        #expect(throws: FileError.self) { try SharedSecret(file: [0xFF, 0xFE] + wide) }
        #expect(throws: FileError.self) { try SharedSecret(file: wide) }
    }

    @Test("a bridge that has sealed texts sends readable ones only on request")
    func sealedBefore() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/secret"
        func access(_ values: [String: String] = [:]) throws -> RelayAccess {
            let more = [
                "BRIDGE_RELAY_URL": "https://relay.example.org", "BRIDGE_STATE_DIRECTORY": directory.path,
            ]
            return try RelayAccess(try configuration(more.merging(values) { $1 }))
        }
        try Data("Kx3s0Q9-secret".utf8).write(to: URL(fileURLWithPath: file))
        #expect(try access().sealer == nil, "nothing was sealed so far")
        try Data("key:\(PairingSecret().base64URL)".utf8).write(to: URL(fileURLWithPath: file))
        #expect(try access().sealer != nil)
        try Data("Kx3s0Q9-secret".utf8).write(to: URL(fileURLWithPath: file))
        let problem = #expect(throws: ConfigurationError.self) { try access() }
        #expect(problem?.problems.first?.contains("--no-seal") == true)
        #expect(try access(["BRIDGE_SEAL": "off"]).sealer == nil)
        #expect(throws: ConfigurationError.self) { try access() }
    }

    @Test("a file is created completely or not at all")
    func creation() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/file"
        #expect(try SmallFile.create(path, with: [1]))
        #expect(try !SmallFile.create(path, with: [2]))
        #expect(try SmallFile.read(path, bytesMax: 9) == [1])
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["file"])
        #expect(throws: FileError.self) { try SmallFile.create(directory.path + "/a/b", with: [1]) }
    }

    @Test("settings that need a key are refused without one, so that no text is sent readable by mistake")
    func demands() throws {
        let directory = try TemporaryDirectory()
        let other = try TemporaryDirectory()
        let plain = directory.path + "/plain"
        try Data("Kx3s0Q9-secret".utf8).write(to: URL(fileURLWithPath: plain))
        func access(_ values: [String: String]) throws -> RelayAccess {
            let more = [
                "BRIDGE_RELAY_URL": "https://relay.example.org", "BRIDGE_STATE_DIRECTORY": directory.path,
            ]
            return try RelayAccess(try configuration(more.merging(values) { $1 }))
        }
        #expect(try access([:]).sealer != nil)
        #expect(try access(["BRIDGE_PRIVATE_SESSIONS": "on"]).sealer != nil)
        #expect(try access(["BRIDGE_SEAL": "off"]).sealer == nil)
        let file = ["BRIDGE_RELAY_SECRET_FILE": plain, "BRIDGE_STATE_DIRECTORY": other.path]
        #expect(try access(file).sealer == nil)
        for wanted in ["BRIDGE_SEAL", "BRIDGE_PRIVATE_SESSIONS"] {
            #expect(throws: ConfigurationError.self) { try access(file.merging([wanted: "on"]) { $1 }) }
        }
        #expect(throws: ConfigurationError.self) {
            try access(["BRIDGE_SEAL": "off", "BRIDGE_PRIVATE_SESSIONS": "on"])
        }
    }
}
