import APNsSimulator
import PushSealing
import Testing

@Suite("Provider tokens", .timeLimit(.minutes(2)))
struct ProviderTokenTests {
    private static let header = #"{"alg":"ES256","kid":"ABC123DEFG"}"#
    private static let claims = #"{"iss":"TEAM123456","iat":1800000000}"#
    private static let signature = [UInt8](repeating: 7, count: 64)

    @Test(
        "A missing token is distinguished from an invalid one",
        arguments: [
            (nil, Reason.missingProviderToken), ("bearer", .missingProviderToken),
            ("bearer ", .missingProviderToken),
            ("", .invalidProviderToken), ("Basic abc", .invalidProviderToken),
            ("bearerx", .invalidProviderToken),
            ("bearer x", .invalidProviderToken), ("bearer a.b", .invalidProviderToken),
            ("bearer a.b.c.d", .invalidProviderToken), ("bearer ..", .invalidProviderToken),
        ] as [(String?, Reason)])
    func missingOrWrong(value: String?, reason: Reason) {
        var push = PushFixture()
        push.set("authorization", value)
        #expect(push.check().reason == reason)
    }

    @Test(
        "A malformed token is invalid",
        arguments: [
            (#"{"alg":"RS256","kid":"ABC123DEFG"}"#, claims), (#"{"kid":"ABC123DEFG"}"#, claims),
            (#"{"alg":"ES256"}"#, claims), (#"{"alg":"ES256","kid":"short"}"#, claims),
            (#"{"alg":"ES256","kid":"abc123defg"}"#, claims), (#"{"alg":"ES256","kid":1234567890}"#, claims),
            ("[]", claims), ("", claims), (header, #"{"iat":1800000000}"#),
            (header, #"{"iss":"TEAM12345","iat":1800000000}"#), (header, #"{"iss":"TEAM123456"}"#),
            (header, #"{"iss":"TEAM123456","iat":"1800000000"}"#),
            (header, #"{"iss":"TEAM123456","iat":1800000000.0}"#),
            (header, #"{"iss":"TEAM123456","iat":99999999999999999999}"#),
        ])
    func wrongForm(header: String, claims: String) {
        let token = PushFixture.token(header: header, claims: claims, signature: Self.signature)
        #expect(PushFixture(authorization: "bearer " + token).check().reason == .invalidProviderToken)
    }

    @Test("Padding, bytes outside the alphabet and DER signatures are invalid")
    func wrongEncoding() {
        let token = PushFixture.token(header: Self.header, claims: Self.claims, signature: Self.signature)
        let short = PushFixture.token(
            header: Self.header, claims: Self.claims, signature: Array(Self.signature.prefix(63)))
        let der = PushFixture.token(
            header: Self.header, claims: Self.claims,
            signature: Self.signature + Array(repeating: 1, count: 7))
        for wrong in [token + "==", token + "!", short, der, "+" + token] {
            #expect(PushFixture(authorization: "bearer " + wrong).check().reason == .invalidProviderToken)
        }
        #expect(PushFixture(authorization: "bearer " + token).check().reason == nil)
    }

    @Test("The authorization scheme is case-insensitive")
    func schemeCase() {
        #expect(PushFixture(authorization: "Bearer " + PushFixture.unsignedToken()).check().reason == nil)
    }

    @Test(
        "A token's age determines whether it is accepted",
        arguments: [
            (0, nil), (-3_600, nil), (-3_601, Reason.expiredProviderToken), (5, nil),
            (6, .invalidProviderToken),
            (86_400, .invalidProviderToken),
        ] as [(Int64, Reason?)])
    func age(offset: Int64, reason: Reason?) {
        let token = PushFixture.unsignedToken(issuedAt: PushFixture.now + offset)
        #expect(PushFixture(authorization: "bearer " + token).check().reason == reason)
    }

    @Test("Times at the ends of the integers don't overflow", arguments: [Int64.min, Int64.max])
    func extremeTimes(issuedAt: Int64) {
        let token = PushFixture.unsignedToken(issuedAt: issuedAt)
        #expect(PushFixture(authorization: "bearer " + token).check().reason != nil)
    }

    @Test("An accepted token expires while its connection stays open")
    func expiresLater() {
        var trust = ConnectionTrust()
        var verifier = ProviderTokenVerifier(.anyKey)
        var push = PushFixture()
        #expect(push.check(trust: &trust, verifier: &verifier).reason == nil)
        push.now += 3_601
        #expect(push.check(trust: &trust, verifier: &verifier).reason == .expiredProviderToken)
        push.set("authorization", "bearer " + PushFixture.unsignedToken(issuedAt: push.now))
        #expect(push.check(trust: &trust, verifier: &verifier).reason == nil)
    }

    @Test("With configured keys, the signature, the key and the team are checked")
    func signatures() throws {
        let key = try SigningKey()
        let other = try SigningKey()
        let policy = KeyPolicy.keys([
            VerificationKey(
                keyID: PushFixture.keyID, teamID: PushFixture.teamID,
                publicKey: try PublicKey(pem: try key.publicPEM()))
        ])
        let now = PushFixture.now
        let cases: [(String, Reason?)] = [
            (try key.token(keyID: PushFixture.keyID, teamID: PushFixture.teamID, issuedAt: now), nil),
            (
                try other.token(keyID: PushFixture.keyID, teamID: PushFixture.teamID, issuedAt: now),
                .invalidProviderToken
            ),
            (
                try key.token(keyID: "ANOTHERKEY", teamID: PushFixture.teamID, issuedAt: now),
                .invalidProviderToken
            ),
            (
                try key.token(keyID: PushFixture.keyID, teamID: "OTHERTEAM1", issuedAt: now),
                .invalidProviderToken
            ),
            (PushFixture.unsignedToken(), .invalidProviderToken),
        ]
        for (token, reason) in cases {
            var trust = ConnectionTrust()
            var verifier = ProviderTokenVerifier(policy)
            let push = PushFixture(authorization: "bearer " + token)
            #expect(push.check(trust: &trust, verifier: &verifier).reason == reason)
            // The second result comes from the cache.
            #expect(push.check(trust: &trust, verifier: &verifier).reason == reason)
        }
    }

    @Test("A changed claim invalidates the signature")
    func tamperedClaim() throws {
        let key = try SigningKey()
        let token = try key.token(
            keyID: PushFixture.keyID, teamID: PushFixture.teamID, issuedAt: PushFixture.now - 60)
        let parts = token.split(separator: ".")
        let claims = Base64URL.encode(Array(#"{"iss":"TEAM123456","iat":1800000000}"#.utf8))
        let forged = "\(parts[0]).\(claims).\(parts[2])"
        var verifier = ProviderTokenVerifier(
            .keys([
                VerificationKey(
                    keyID: PushFixture.keyID, teamID: PushFixture.teamID,
                    publicKey: try PublicKey(pem: try key.publicPEM()))
            ]))
        var trust = ConnectionTrust()
        #expect(
            PushFixture(authorization: "bearer " + forged).check(trust: &trust, verifier: &verifier).reason
                == .invalidProviderToken)
    }

    @Test("A key for the sandbox is refused in production")
    func environmentOfKey() throws {
        let key = try SigningKey()
        let policy = KeyPolicy.keys([
            VerificationKey(
                keyID: PushFixture.keyID, teamID: PushFixture.teamID, environment: .sandbox,
                publicKey: try PublicKey(pem: try key.privatePEM()))
        ])
        let token = try key.token(
            keyID: PushFixture.keyID, teamID: PushFixture.teamID, issuedAt: PushFixture.now)
        for environment in PushEnvironment.allCases {
            var trust = ConnectionTrust()
            var verifier = ProviderTokenVerifier(policy)
            var push = PushFixture(authorization: "bearer " + token)
            push.environment = environment
            #expect(
                push.check(trust: &trust, verifier: &verifier).reason
                    == (environment == .sandbox ? nil : .badEnvironmentKeyInToken))
        }
    }

    @Test(
        "A connection accepts a new token only after 20 minutes",
        arguments: [
            (0, 0, Reason.tooManyProviderTokenUpdates), (1_199, 1_199, .tooManyProviderTokenUpdates),
            (1_200, 1_200, nil), (0, 1_200, nil),
        ] as [(Int64, Int64, Reason?)])
    func renewal(later: Int64, waited: Int64, reason: Reason?) {
        var trust = ConnectionTrust()
        var verifier = ProviderTokenVerifier(.anyKey)
        var push = PushFixture()
        #expect(push.check(trust: &trust, verifier: &verifier).reason == nil)
        push.now += waited
        let renewed = PushFixture.unsignedToken(issuedAt: PushFixture.now + later, signature: 9)
        push.set("authorization", "bearer " + renewed)
        #expect(push.check(trust: &trust, verifier: &verifier).reason == reason)
    }

    @Test("A nearly expired token may be renewed soon after the connection opens")
    func renewalOfOldToken() {
        var trust = ConnectionTrust()
        var verifier = ProviderTokenVerifier(.anyKey)
        var push = PushFixture(
            authorization: "bearer " + PushFixture.unsignedToken(issuedAt: PushFixture.now - 3_000))
        #expect(push.check(trust: &trust, verifier: &verifier).reason == nil)
        push.set("authorization", "bearer " + PushFixture.unsignedToken())
        #expect(push.check(trust: &trust, verifier: &verifier).reason == nil)
    }

    @Test("After TooManyProviderTokenUpdates the old token stays valid")
    func oldTokenStays() {
        var trust = ConnectionTrust()
        var verifier = ProviderTokenVerifier(.anyKey)
        var push = PushFixture()
        #expect(push.check(trust: &trust, verifier: &verifier).reason == nil)
        let old = push.headers
        push.set("authorization", "bearer " + PushFixture.unsignedToken(signature: 9))
        #expect(push.check(trust: &trust, verifier: &verifier).reason == .tooManyProviderTokenUpdates)
        push.headers = old
        #expect(push.check(trust: &trust, verifier: &verifier).reason == nil)
    }

    @Test("A connection is bound to the team and the key of its first push")
    func binding() {
        var trust = ConnectionTrust()
        var verifier = ProviderTokenVerifier(.anyKey)
        var push = PushFixture()
        #expect(push.check(trust: &trust, verifier: &verifier).reason == nil)
        push.set("authorization", "bearer " + PushFixture.unsignedToken(keyID: "ANOTHERKEY"))
        #expect(push.check(trust: &trust, verifier: &verifier).reason == .unrelatedKeyIDInToken)
        push.set("authorization", "bearer " + PushFixture.unsignedToken(teamID: "OTHERTEAM1"))
        #expect(push.check(trust: &trust, verifier: &verifier).reason == .invalidProviderToken)
        #expect(trust.token?.keyID == PushFixture.keyID)
    }

    @Test("A refused token does not bind the connection")
    func refusedDoesNotBind() {
        var trust = ConnectionTrust()
        var verifier = ProviderTokenVerifier(.anyKey)
        let expired = PushFixture.unsignedToken(keyID: "ANOTHERKEY", issuedAt: PushFixture.now - 4_000)
        var push = PushFixture(authorization: "bearer " + expired)
        #expect(push.check(trust: &trust, verifier: &verifier).reason == .expiredProviderToken)
        push.set("authorization", "bearer " + PushFixture.unsignedToken())
        #expect(push.check(trust: &trust, verifier: &verifier).reason == nil)
    }

    @Test("A file without a P-256 key is refused")
    func badKeyFiles() {
        #expect(throws: PublicKeyError.notPEM) { try PublicKey(pem: Array("no key".utf8)) }
        #expect(throws: SigningKeyError.notPEM) { try SigningKey(pem: []) }
    }
}
