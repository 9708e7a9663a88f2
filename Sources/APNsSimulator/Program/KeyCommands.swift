/// Implements `apns-simulator key` and `apns-simulator token`.
enum KeyCommands {
    /// Writes a new private key to `out` and its public key to `out.pub`.
    static func makeKey(out: String) throws(ProgramFailure) {
        let pems: (privateKey: [UInt8], publicKey: [UInt8])
        do throws(SigningKey.Failure) {
            let key = try SigningKey()
            pems = (try key.privatePEM(), try key.publicPEM())
        } catch {
            throw ProgramFailure(.unavailable, "OpenSSL failed to generate a key")
        }
        try FileSystem.write(pems.privateKey, to: out, mode: 0o600)
        try FileSystem.write(pems.publicKey, to: out + ".pub")
        say("Private key: \(out)\nPublic key:  \(out).pub\n")
    }

    /// Prints a provider token issued now.
    static func makeToken(_ options: TokenOptions) throws(ProgramFailure) {
        let now = WallClock.milliseconds / 1_000
        let pem = try options.keyFile.map { path throws(ProgramFailure) in try FileSystem.read(path) }
        do throws(SigningKey.Failure) {
            let key = if let pem { try SigningKey(pem: pem) } else { try SigningKey() }
            say(try key.token(keyID: options.keyID, teamID: options.teamID, issuedAt: now) + "\n")
        } catch {
            throw ProgramFailure(
                .noInput, "\(options.keyFile ?? "the key") is not a PEM private key usable for ES256")
        }
    }

    private static func say(_ text: String) { StandardOutput.write(Array(text.utf8)) }
}
