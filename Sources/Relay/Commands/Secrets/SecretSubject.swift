import JSON
import Programs
import Storage

/// The secret whose rows a command changes.
enum SecretSubject: Sendable {
    /// All rows of a secret.
    case secret(Secret, SecretKey)
    /// The rows under one hash.
    case hash(SecretHash)

    /// The given hash, or the secret that was given or is typed; prints an error before throwing.
    init(
        _ configuration: InspectionConfiguration, _ options: CommandOptions, of command: String
    ) throws(ExitStatus) {
        guard let digits = options.text(.secretHash) else {
            let secret = try SecretInput.require(configuration.secret)
            self = .secret(secret, configuration.hasher.key(of: secret))
            return
        }
        guard configuration.secret == nil else {
            StandardError.message(
                "--secret-hash and RELAY_SECRET both name a secret: use only one. "
                    + RelayCommand.table.hint(command))
            throw .usage
        }
        self = .hash(try SecretHashSearch.require(digits, in: .everyTable, configuration))
    }

    var key: SecretKey {
        switch self {
        case .secret(_, let key): key
        case .hash(let hash): SecretKey(primary: hash)
        }
    }

    /// The request, with additional members, to a running relay, which hashes the secret itself.
    func request(_ more: (inout JSON.Writer) -> Void = { _ in }) -> [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        switch self {
        case .secret(let secret, _): writer.member("secret", String(decoding: secret.bytes, as: UTF8.self))
        case .hash(let hash): writer.member("secretHash", hash.hex)
        }
        more(&writer)
        writer.endObject()
        return writer.finish()
    }
}
