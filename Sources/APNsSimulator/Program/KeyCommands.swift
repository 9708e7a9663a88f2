import Programs

/// Implements `apns-simulator key` and `apns-simulator token`.
enum KeyCommands {
    /// Writes a new private key to `out` and its public key to `out.pub`.
    static func makeKey(_ options: CommandOptions) throws(ProgramError) {
        guard let out = options.text(.out) else { throw ProgramError(.usage, "key: --out FILE is required") }
        let pems: (privateKey: [UInt8], publicKey: [UInt8])
        do throws(SigningKeyError) {
            let key = try SigningKey()
            pems = (try key.privatePEM(), try key.publicPEM())
        } catch {
            throw ProgramError(.unavailable, "OpenSSL failed to generate a key")
        }
        try GivenFile.write(pems.privateKey, to: out, mode: 0o600)
        try GivenFile.write(pems.publicKey, to: out + ".pub")
        StandardOutput.write("Private key: \(out)\nPublic key:  \(out).pub\n")
    }

    /// Prints a newly issued provider token.
    static func makeToken(_ options: CommandOptions) throws(ProgramError) {
        let file = options.text(.keyFile)
        let now = WallClock.system.now / 1_000
        let pem = try file.map { path throws(ProgramError) in try GivenFile.read(path) }
        do throws(SigningKeyError) {
            let key = if let pem { try SigningKey(pem: pem) } else { try SigningKey() }
            let (keyID, teamID) = (options.text(.tokenKeyID), options.text(.tokenTeamID))
            StandardOutput.write(
                try key.token(
                    keyID: keyID ?? "KEY1234567", teamID: teamID ?? "TEAM123456", issuedAt: now) + "\n")
        } catch {
            throw ProgramError(
                .noInput, "\(file ?? "the key") is not a PEM private key usable for ES256")
        }
    }
}
