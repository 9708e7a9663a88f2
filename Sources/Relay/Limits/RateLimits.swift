import HTTPServer
import Network
import Storage

/// How often a tenant or a stranger may ask; 0 is no limit.
struct RateLimitConfiguration: Sendable, Equatable {
    /// Events and notifications of one secret.
    var eventsPerMinute = 0
    /// Registrations, unregistrations and lists of one secret.
    var registrationsPerMinute = 0
    /// Requests of one client address that name a secret which has no devices.
    var unknownSecretsPerMinute = 0
    /// Whose word on the client's address counts.
    var trustedProxies = TrustedProxies()
}

/// The limits of the process, asked before anything is stored or sent.
final class RateLimits: Sendable {
    private let events: RateLimiter?
    private let registrations: RateLimiter?
    private let unknownSecrets: RateLimiter?
    private let trustedProxies: TrustedProxies

    /// Limits of which nothing has been used.
    init(_ configuration: RateLimitConfiguration) {
        events = RateLimiter(perMinute: configuration.eventsPerMinute)
        registrations = RateLimiter(perMinute: configuration.registrationsPerMinute)
        unknownSecrets = RateLimiter(perMinute: configuration.unknownSecretsPerMinute)
        trustedProxies = configuration.trustedProxies
    }

    /// Counts an event of a secret.
    ///
    /// - Throws: `rate_limited` when it is one too many.
    func countEvent(_ key: SecretKey, at now: MonotonicTime) throws(APIError) {
        try check(
            events?.take(key.primary, at: now), .events, hint: "This secret sends more than it may.")
    }

    /// Counts a registration of a secret, or what costs as much.
    ///
    /// - Throws: `rate_limited` when it is one too many.
    func countRegistration(_ key: SecretKey, at now: MonotonicTime) throws(APIError) {
        try check(
            registrations?.take(key.primary, at: now), .registrations,
            hint: "This secret registers more than it may.")
    }

    /// Whether strangers are limited, so that it must be found out who is one.
    var countsUnknownSecrets: Bool { unknownSecrets != nil }

    /// Counts a request that names a secret without devices, for the address that it came from.
    ///
    /// - Throws: `rate_limited` when it is one too many.
    func countUnknownSecret(_ request: Request, at now: MonotonicTime) throws(APIError) {
        guard let unknownSecrets else { return }
        let client = trustedProxies.client(of: request)
        try check(
            unknownSecrets.take(client?.clientKey ?? 0, at: now), .unknownSecrets,
            hint: "This address names more secrets without devices than it may.")
    }

    private func check(_ wait: Duration?, _ limit: LimitKind, hint: String) throws(APIError) {
        guard let wait else { return }
        var error = APIError(.rateLimited, hint: hint, logDetail: limit.rawValue, limit: limit)
        error.retryAfterSeconds = Self.wholeSeconds(wait)
        throw error
    }

    /// The fewest whole seconds after which a wait is over.
    static func wholeSeconds(_ wait: Duration) -> Int {
        let (seconds, attoseconds) = wait.components
        return max(1, Int(seconds) + (attoseconds > 0 ? 1 : 0))
    }
}
