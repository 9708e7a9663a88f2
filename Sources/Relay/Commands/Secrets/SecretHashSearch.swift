import Network
import Programs
import Storage

/// Finds the hash for the digits in a log line.
enum SecretHashSearch {
    /// The only hash that begins with the given digits; a complete hash is used as is.
    ///
    /// Call it on the main thread before starting another thread. Throws the exit status after printing the reason.
    static func require(
        _ text: String, in scope: SecretHashScope, _ configuration: InspectionConfiguration
    ) throws(ExitStatus) -> SecretHash {
        guard let prefix = SecretHashPrefix(text) else { throw .usage }
        if let hash = prefix.hash { return hash }
        let found = Lock<[SecretHash]>([])
        let status = Inspection.run(configuration) { storage throws(StorageError) in
            let hashes = try await storage.hashes(
                beginningWith: prefix, in: scope, limit: Bounds.hashCandidatesMax + 1)
            found.withLock { $0 = hashes }
            return .success
        }
        guard status == .success else { throw status }
        let hashes = found.withLock { $0 }
        guard hashes.count == 1 else {
            StandardError.message(problem(with: prefix, in: scope, hashes))
            throw .data
        }
        return hashes[0]
    }

    /// The message if no hash or several match the digits.
    static func problem(
        with prefix: SecretHashPrefix, in scope: SecretHashScope, _ candidates: [SecretHash]
    ) -> String {
        guard !candidates.isEmpty else {
            return switch scope {
            case .everyTable:
                "no secret in the database has a hash that begins with \(prefix.digits). Copy the digits from the "
                    + "secret field of a log line or from relay tenants; a secret that the database has never seen "
                    + "needs all \(Digest256.hexCount) digits"
            case .blocked:
                "no blocked secret has a hash that begins with \(prefix.digits); relay block --list shows all of them"
            }
        }
        let shown = candidates.prefix(Bounds.hashCandidatesMax).map { "\n  " + $0.hex }.joined()
        let more = candidates.count > Bounds.hashCandidatesMax ? "\n  …" : ""
        return "several secrets have a hash that begins with \(prefix.digits); give more digits:" + shown
            + more
    }
}
