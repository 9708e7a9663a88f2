import HTTPServer
import JSON
import Storage

/// How the console identifies tenants, and whether it may change them.
///
/// Anyone who knows a full hash can revoke its secret, so only a listener with a token shows full hashes and offers
/// changes (docs/design/security.md).
struct ConsoleNames: Sendable {
    let showsWholeHashes: Bool

    /// Writes the members that identify a tenant.
    func write(_ hash: SecretHash, to writer: inout JSON.Writer) {
        writer.member("secret", hash.prefix)
        if showsWholeHashes { writer.member("secretHash", hash.hex) }
    }
}

/// `GET /v1/admin/tenants` and `/v1/admin/tenant`: recently active and blocked tenants, and one tenant's rows.
struct ConsoleTenants: Sendable {
    let storage: any Storage
    let names: ConsoleNames

    /// The tenants with the latest requests, the blocked ones, and those whose hashes begin with the given digits.
    func list(_ recent: RecentTenants, beginningWith digits: String?) async throws(ConsoleError) -> [UInt8] {
        var found: [SecretHash]?
        if let digits { found = try await find(digits) }
        let blocked = try await blocked()
        let isBlocked = Set(blocked.map(\.secretHash))
        var writer = JSON.Writer(capacity: 16 * 1024)
        writer.beginObject()
        writer.member("canChange", names.showsWholeHashes)
        writer.name("recent")
        writer.beginArray()
        for (hash, activity) in recent.newestFirst.prefix(Bounds.consoleRowsMax) {
            writer.beginObject()
            names.write(hash, to: &writer)
            writer.member("at", activity.at)
            writer.member("events", Int(clamping: activity.events))
            writer.member("others", Int(clamping: activity.others))
            writer.member("limited", Int(clamping: activity.limited))
            writer.member("isBlocked", isBlocked.contains(hash))
            writer.endObject()
        }
        writer.endArray()
        writer.name("blocked")
        writer.beginArray()
        for secret in blocked.sorted(by: { $0.createdAt > $1.createdAt }).prefix(Bounds.consoleRowsMax) {
            writer.beginObject()
            names.write(secret.secretHash, to: &writer)
            write(secret, to: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.member("blockedCount", blocked.count)
        if let found {
            writer.name("found")
            writer.beginArray()
            for hash in found {
                writer.beginObject()
                names.write(hash, to: &writer)
                writer.member("isBlocked", isBlocked.contains(hash))
                writer.endObject()
            }
            writer.endArray()
        }
        writer.endObject()
        return writer.finish()
    }

    /// One tenant's devices, queued pushes, schedules, access tokens and latest results.
    func one(_ digits: String) async throws(ConsoleError) -> [UInt8] {
        let hash = try await only(digits)
        let key = SecretKey(primary: hash)
        let limit = Bounds.consoleRowsMax
        do throws(StorageError) {
            let devices = try await storage.devices(of: key)
            let deliveries = try await storage.deliveries(of: key, before: nil, limit: limit)
            let waiting = try await storage.waitingPushes(of: hash, after: nil, limit: limit)
            let schedules = try await storage.schedules(of: key, kind: .schedule, limit: limit)
            let tokens = try await storage.accessTokens(of: key, limit: Bounds.accessTokensMax)
            let block = try await storage.blockedSecrets(limit: StorageLimits.blockedSecretsMax)
                .first { $0.secretHash == hash }
            var writer = JSON.Writer(capacity: 16 * 1024)
            writer.beginObject()
            names.write(hash, to: &writer)
            writer.member("canChange", names.showsWholeHashes)
            if let block {
                writer.name("block")
                writer.beginObject()
                write(block, to: &writer)
                writer.endObject()
            }
            let shown = Dictionary(devices.map { ($0.id, $0) }) { $1 }
            writer.list("devices", devices.prefix(limit)) { $1.write($0) }
            writer.list("deliveries", deliveries.singles.prefix(limit)) { $1.write($0, on: shown) }
            writer.list("waiting", waiting) { $1.write($0, on: shown[$0.deviceID]) }
            writer.list("schedules", schedules) { $1.write($0) }
            writer.list("tokens", tokens) { $1.write($0) }
            writer.endObject()
            return writer.finish()
        } catch {
            throw ConsoleError(error)
        }
    }

    /// The hashes that begin with the given digits and have rows.
    func find(_ digits: String) async throws(ConsoleError) -> [SecretHash] {
        guard let prefix = SecretHashPrefix(digits) else {
            throw ConsoleError(
                400,
                "Give \(SecretHashPrefix.countMin) to \(Digest256.hexCount) hexadecimal digits of a secret's hash."
            )
        }
        do throws(StorageError) {
            return try await storage.hashes(
                beginningWith: prefix, in: .everyTable, limit: Bounds.hashCandidatesMax)
        } catch {
            throw ConsoleError(error)
        }
    }

    /// The only hash that begins with the given digits; a full hash need not have rows.
    func only(_ digits: String) async throws(ConsoleError) -> SecretHash {
        if let hash = SecretHashPrefix(digits)?.hash { return hash }
        let found = try await find(digits)
        guard let hash = found.first else {
            throw ConsoleError(404, "The database has no secret whose hash begins with these digits.")
        }
        guard found.count == 1 else {
            throw ConsoleError(409, "Several secrets have a hash that begins with these digits: give more.")
        }
        return hash
    }

    private func blocked() async throws(ConsoleError) -> [BlockedSecret] {
        do throws(StorageError) {
            return try await storage.blockedSecrets(limit: StorageLimits.blockedSecretsMax)
        } catch {
            throw ConsoleError(error)
        }
    }

    private func write(_ secret: BlockedSecret, to writer: inout JSON.Writer) {
        writer.member("since", secret.createdAt)
        if let note = secret.note { writer.member("note", note) }
    }
}

/// Why a request from the console failed, in one sentence.
struct ConsoleError: Error, Equatable {
    let status: Int
    let sentence: String

    init(_ status: Int, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }

    /// The error for a failed call to the database.
    init(_ error: StorageError) {
        let known = APIError(error)
        self.init(known.code.status, known.sentence)
    }

    var response: Response {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", false)
        writer.member("error", sentence)
        writer.endObject()
        return Reply(status: status, body: writer.finish()).response(requestID: nil)
    }
}
