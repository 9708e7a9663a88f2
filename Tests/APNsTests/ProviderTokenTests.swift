import APNs
import JSON
import Network
import Testing

/// The time on both clocks after some seconds; only the wall clock advances during the suspended ones.
func time(_ seconds: Int64, suspended: Int64 = 0) -> TokenTime {
    TokenTime(
        epochSeconds: 1_800_000_000 + seconds + suspended,
        monotonic: MonotonicTime(nanoseconds: UInt64(5_000 + seconds) * 1_000_000_000))
}

private func problem(of text: String) -> SigningKeyError? {
    do throws(ProviderCredentialProblems) {
        _ = try ProviderCredentials(teamID: "TEAM567890", keyID: "KEY4567890", key: KeyText(text))
        return nil
    } catch {
        guard case .key(let error)? = error.all.first else { return nil }
        return error
    }
}

@Suite("Signing keys", .timeLimit(.minutes(2)))
struct SigningKeyTests {
    @Test(
        "a .p8 file is accepted unchanged, in one line with \\n, quoted, indented, with CR LF, or in base64")
    func forms() throws {
        let pem = try TestKey().pem
        #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let escaped = pem.replacing("\n", with: "\\n")
        for text in [
            pem, "\n  " + pem, pem.replacing("\n", with: "\n\t  "), String(pem.dropLast()), escaped,
            "\"\(escaped)\"",
            "'\(escaped)'",
            pem.replacing("\n", with: "\r\n"), pem.replacing("\n", with: "\\r\\n"),
            base64(pem), base64(pem, wrapped: true), base64(escaped),
            base64(pem + "\n").replacing("=", with: ""),
        ] {
            #expect(problem(of: text) == nil)
        }
    }

    @Test("a key in the older SEC 1 form is accepted")
    func traditional() throws {
        let pem = try TestKey().traditionalPEM
        #expect(pem.contains("EC PRIVATE KEY"))
        #expect(problem(of: pem) == nil)
    }

    @Test("each kind of unusable key has its own error")
    func problems() throws {
        let key = try TestKey()
        let pem = try key.pem
        for text in ["", " ", "secret", "MIGHAgEAMBMG", "=", "\0", String(repeating: "A", count: 100_000)] {
            #expect(problem(of: text) == .notPEM)
        }
        #expect(problem(of: try key.encryptedPEM) == .encrypted)
        #expect(problem(of: try key.encryptedTraditionalPEM) == .encrypted)
        #expect(problem(of: try key.publicPEM) == .notPrivateKey)
        #expect(
            problem(of: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") == .notPrivateKey)
        #expect(problem(of: String(pem.dropLast(60))) == .unreadable)
        #expect(problem(of: pem.replacing("M", with: "N")) == .unreadable)
        #expect(problem(of: pem.replacing("\n", with: " ")) == .unreadable)
        #expect(problem(of: try TestKey(.rsa).pem) == .notEllipticCurve)
        #expect(problem(of: try TestKey(.ed25519).pem) == .notEllipticCurve)
        #expect(problem(of: try TestKey(.p384).pem) == .wrongCurve)
        #expect(problem(of: try TestKey(.secp256k1).pem) == .wrongCurve)
        #expect(problem(of: try key.mismatchedPEM(TestKey())) == .inconsistent)
    }

    @Test("a refused key leaves no error in OpenSSL's queue")
    func errorQueue() {
        #expect(problem(of: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n") == .unreadable)
        #expect(!TestKey.isErrorLeftBehind)
    }

    @Test("all problems are reported at once, without the values")
    func allProblems() {
        let error = #expect(throws: ProviderCredentialProblems.self) {
            try ProviderCredentials(teamID: "team567890", keyID: "KEY", key: KeyText("hunter2"))
        }
        #expect(error?.all == [.teamID, .keyID, .key(.notPEM)])
        #expect(error?.all.contains { "\($0)".contains("hunter2") || "\($0)".contains("KEY,") } == false)
        for problem in SigningKeyError.allCases { #expect(problem.description.count > 20) }
    }

    @Test(
        "team and key identifiers have 10 of A-Z and 0-9",
        arguments: [
            ("ABCDE12345", true), ("0000000000", true), ("", false), ("ABCDE1234", false),
            ("ABCDE123456", false),
            ("abcde12345", false), ("ABCDE1234 ", false), ("ABCDE1234é", false), ("ABCDE123é", false),
            ("ABCDE1234\n", false),
        ])
    func identifiers(text: String, isIdentifier: Bool) {
        #expect(ProviderCredentials.isIdentifier(text) == isIdentifier)
    }

    @Test("nothing prints a key")
    func keyIsNotPrinted() throws {
        let pem = try TestKey().pem
        let text = KeyText(pem)
        let credentials = try ProviderCredentials(teamID: "TEAM567890", keyID: "KEY4567890", key: text)
        let part = pem.split(separator: "\n")[1].prefix(20)
        var dumped = ""
        dump(text, to: &dumped)
        dump(credentials, to: &dumped)
        dump([Optional(text)], to: &dumped)
        for shown in [
            dumped, "\(text)", "\(credentials)", String(reflecting: text), String(reflecting: credentials),
        ] {
            #expect(!shown.contains(part))
            #expect(!shown.contains("\(Array(pem.utf8)[30]), \(Array(pem.utf8)[31])"))
        }
    }
}

@Suite("Provider tokens", .timeLimit(.minutes(2)))
struct ProviderTokenTests {
    let key: TestKey
    let source: ProviderTokenSource

    init() throws {
        key = try TestKey()
        source = ProviderTokenSource(
            try ProviderCredentials(teamID: "TEAM567890", keyID: "KEY4567890", key: KeyText(key.pem)))
    }

    private func serial(at now: TokenTime) throws -> UInt64 { try source.token(at: now).serial }

    @Test(
        "a token is an ES256 JWS with alg, kid, iss and iat, and the public key verifies it",
        arguments: 0..<20)
    func form(second: Int64) throws {
        let authorization = String(decoding: try source.token(at: time(second)).authorization, as: UTF8.self)
        #expect(authorization.hasPrefix("bearer "))
        let parts = authorization.dropFirst("bearer ".count).split(
            separator: ".", omittingEmptySubsequences: false)
        #expect(parts.count == 3)
        #expect(
            parts.allSatisfy {
                $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
            })
        let header = try JSON.parse(decodedBase64URL(parts[0]), maxBytes: 100)
        #expect(header == ["alg": "ES256", "kid": "KEY4567890"])
        let claims = try JSON.parse(decodedBase64URL(parts[1]), maxBytes: 100)
        #expect(claims == ["iss": "TEAM567890", "iat": 1_800_000_000], "a multiple of 3,000")
        let signature = try decodedBase64URL(parts[2])
        #expect(signature.count == 64)
        #expect(key.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
        #expect(!key.verifies(signature, of: Array("\(parts[0]).\(parts[1])x".utf8)))
    }

    @Test("nothing prints a token")
    func isNotPrinted() throws {
        let token = try source.token(at: time(0))
        var dumped = ""
        dump(token, to: &dumped)
        for shown in [dumped, "\(token)", String(reflecting: token), "\([token])"] {
            #expect(!shown.contains("bearer"))
            #expect(!shown.contains("98, 101"))
        }
    }

    @Test("a token is used for 50 minutes and then replaced")
    func renewal() throws {
        #expect(try serial(at: time(0)) == 1)
        #expect(try serial(at: time(2_999)) == 1)
        #expect(try serial(at: time(3_000)) == 2)
        #expect(try serial(at: time(5_999)) == 2)
        #expect(try serial(at: time(6_000)) == 3)
    }

    @Test("an expired token is replaced, but never within 20 minutes of signing")
    func expired() throws {
        let first = try source.token(at: time(0))
        #expect(source.refused(first, at: time(1_199)) == false)
        #expect(try serial(at: time(1_199)) == 1)
        // The refusal is remembered: a new token is made as soon as that is allowed.
        #expect(try serial(at: time(1_200)) == 2)
        let second = try source.token(at: time(1_200))
        #expect(source.refused(second, at: time(2_400)) == true)
        #expect(try serial(at: time(2_400)) == 3)
    }

    @Test("a late refusal of an old token renews nothing and allows a retry")
    func expiredLate() throws {
        let first = try source.token(at: time(0))
        _ = try source.token(at: time(3_000))
        #expect(source.refused(first, at: time(3_001)) == true)
        #expect(try serial(at: time(5_999)) == 2)
    }

    @Test("many refusals of one token renew it once")
    func expiredOften() throws {
        let first = try source.token(at: time(0))
        for _ in 0..<100 { #expect(source.refused(first, at: time(1_300)) == true) }
        #expect(try serial(at: time(1_300)) == 2)
        for _ in 0..<100 { #expect(source.refused(first, at: time(1_300)) == true) }
        #expect(try serial(at: time(1_300)) == 2)
    }

    @Test("after too many updates the token stays for 20 minutes unless it would expire")
    func tooManyUpdates() throws {
        _ = try source.token(at: time(0))
        source.tooManyUpdates(at: time(2_000))
        #expect(try serial(at: time(3_199)) == 1)
        #expect(try serial(at: time(3_200)) == 2)
        source.tooManyUpdates(at: time(3_000 + 2_900))
        #expect(try serial(at: time(3_000 + 3_479)) == 2)
        #expect(try serial(at: time(3_000 + 3_480)) == 3)
    }

    @Test("relays that start at different times use tokens of the same date, renewed at the same time")
    func commonDates() throws {
        let (early, late) = (source, ProviderTokenSource(source.credentials))
        #expect(try claims(early.token(at: time(100))) == claims(late.token(at: time(2_900))))
        #expect(try serial(at: time(2_999)) == 1)
        for source in [early, late] {
            let token = try source.token(at: time(3_001))
            #expect(token.serial == 2)
            #expect(try claims(token)["iat"] == .int(1_800_003_000))
            // APNs allows no new token within 20 minutes on one connection.
            #expect(token.needsNewConnections == (source === late))
        }
    }

    @Test("after a refusal tokens are dated with the process' own clock, since that may be wrong")
    func ownDates() throws {
        let first = try source.token(at: time(100))
        #expect(source.refused(first, at: time(101)), "it was dated back")
        let second = try source.token(at: time(101))
        #expect(try claims(second)["iat"] == .int(1_800_000_101))
        #expect(second.needsNewConnections)
        #expect(!source.refused(second, at: time(102)), "the date wasn't the reason")
        #expect(try serial(at: time(1_300)) == 2)
        let third = try source.token(at: time(1_301))
        #expect(try claims(third)["iat"] == .int(1_800_001_301))
        #expect(try serial(at: time(4_300)) == 3)
        #expect(try claims(source.token(at: time(4_301)))["iat"] == .int(1_800_004_301))
    }

    private func claims(_ token: ProviderToken) throws -> JSON.Value {
        let parts = String(decoding: token.authorization, as: UTF8.self).split(separator: ".")
        return try JSON.parse(decodedBase64URL(parts[1]), maxBytes: 100)
    }

    @Test("an expired token also waits after TooManyProviderTokenUpdates")
    func expiredAndTooMany() throws {
        let first = try source.token(at: time(0))
        source.tooManyUpdates(at: time(1_300))
        #expect(source.refused(first, at: time(1_301)) == false)
        #expect(try serial(at: time(2_499)) == 1)
        #expect(try serial(at: time(2_500)) == 2)
    }

    @Test("time during suspension counts, and a clock set back doesn't")
    func clocks() throws {
        #expect(try serial(at: time(0)) == 1)
        #expect(try serial(at: time(10, suspended: 2_989)) == 1)
        #expect(try serial(at: time(10, suspended: 2_990)) == 2)
        #expect(try serial(at: time(2_000, suspended: -100_000)) == 2)
        #expect(try serial(at: time(3_010, suspended: -100_000)) == 3)
    }

    @Test(
        "a refused token with a wrong date is replaced immediately if the clock was set since",
        arguments: [-100_000, -2_400, -5, 5, 1_000])
    func clockSet(by step: Int64) throws {
        let first = try source.token(at: time(0))
        #expect(try serial(at: time(60, suspended: step)) == 1, "nobody has refused it yet")
        #expect(source.refused(first, at: time(60, suspended: step)))
        #expect(try serial(at: time(60, suspended: step)) == 2)
    }

    @Test("a token refused because of a wrong clock is replaced once the clock is set")
    func clockSetAfterRefusal() throws {
        let first = try source.token(at: time(0))
        #expect(!source.refused(first, at: time(60)))
        #expect(!source.refused(first, at: time(64, suspended: 4)), "clocks drift")
        #expect(try serial(at: time(70, suspended: 4)) == 1)
        #expect(try serial(at: time(120, suspended: -3_600)) == 2)
        #expect(try serial(at: time(180, suspended: -3_600)) == 2)
    }

    @Test("few tokens are signed within 20 minutes, however often the clock is set and tokens are refused")
    func clockSetOften() throws {
        var serials: Set<UInt64> = []
        for second in stride(from: Int64(0), to: 1_200, by: 10) {
            let now = time(second, suspended: second % 20 == 0 ? 0 : -7_200)
            let token = try source.token(at: now)
            serials.insert(token.serial)
            _ = source.refused(token, at: now)
        }
        #expect(serials == [1, 2, 3, 4])
        #expect(try serial(at: time(1_199)) == 4)
        #expect(try serial(at: time(1_200)) == 5)
    }

    @Test("all threads share one token")
    func threads() async throws {
        let source = source
        let serials = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for index in 0..<64 { group.addTask { try source.token(at: time(Int64(index))).serial } }
            return try await group.reduce(into: Set<UInt64>()) { $0.insert($1) }
        }
        #expect(serials == [1])
    }
}
