import APNs
import Storage
import Testing

@testable import Relay

@Suite("Challenge codes", .timeLimit(.minutes(2)))
struct ChallengeCodesTests {
    private static let now: EpochMilliseconds = 1_800_000_000_123
    private static let first = Secret(String(repeating: "p", count: 32))
    private static let second = Secret(String(repeating: "q", count: 32))

    private let subject: ChallengeCodes.Subject
    private let codes: ChallengeCodes

    init() throws {
        subject = ChallengeCodes.Subject(
            secret: Secret("a secret of the test"), token: try #require(DeviceToken("aa00")),
            bundleID: try #require(Topic("org.example.app")), environment: .production)
        codes = try Self.codes(Self.first)
    }

    private static func codes(_ pepper: Secret?, other: Secret? = nil) throws -> ChallengeCodes {
        let hasher = try #require(SecretHasher(pepper: pepper, other: other))
        return try #require(ChallengeCodes(hasher))
    }

    @Test("A code is valid for ten minutes and says nothing of the secret")
    func lifetime() {
        let code = codes.code(for: subject, at: Self.now)
        #expect(code.utf8.count == ChallengeCodes.count && ChallengeCodes.isWellFormed(code.utf8))
        #expect(codes.isValid(code, for: subject, at: Self.now))
        #expect(codes.isValid(code, for: subject, at: Self.now + 599_000))
        #expect(!codes.isValid(code, for: subject, at: Self.now + 601_000))
        #expect(codes.code(for: subject, at: Self.now + 1000) != code)
    }

    @Test("A code allows nothing but what it was made for")
    func bound() throws {
        let code = codes.code(for: subject, at: Self.now)
        var others = Array(repeating: subject, count: 4)
        others[0].secret = Secret("another secret")
        others[1].token = try #require(DeviceToken("aa01"))
        others[2].bundleID = try #require(Topic("org.example.other"))
        others[3].environment = .sandbox
        for other in others { #expect(!codes.isValid(code, for: other, at: Self.now)) }
    }

    @Test("A code with any character changed is wrong, its time included")
    func changed() {
        let code = Array(codes.code(for: subject, at: Self.now))
        for index in code.indices {
            var changed = code
            changed[index] = code[index] == "0" ? "1" : "0"
            #expect(!codes.isValid(String(changed), for: subject, at: Self.now), "\(index)")
        }
    }

    @Test("What can't be a code is none", arguments: ["", "0", "é", "ABCDEF"])
    func malformed(start: String) {
        let text = start + String(repeating: "0", count: max(0, 40 - start.count))
        #expect(ChallengeCodes.isWellFormed(text.utf8) == (start == "0" || start.isEmpty))
        #expect(!codes.isValid(start, for: subject, at: Self.now))
        #expect(!codes.isValid(text, for: subject, at: Self.now))
    }

    @Test("Relays with one pepper agree, also while it is changed, and others don't")
    func peppers() throws {
        let code = codes.code(for: subject, at: Self.now)
        #expect(try Self.codes(Self.first).isValid(code, for: subject, at: Self.now))
        #expect(try Self.codes(Self.second, other: Self.first).isValid(code, for: subject, at: Self.now))
        #expect(try Self.codes(nil, other: Self.first).isValid(code, for: subject, at: Self.now))
        #expect(try !Self.codes(Self.second).isValid(code, for: subject, at: Self.now))
        let next = try Self.codes(Self.second, other: Self.first).code(for: subject, at: Self.now)
        #expect(try Self.codes(Self.first, other: Self.second).isValid(next, for: subject, at: Self.now))
        #expect(ChallengeCodes(SecretHasher()) == nil)
    }
}
