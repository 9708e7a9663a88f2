import HTTPServer
import Network
import Storage

/// Rate limits for tenants and unknown clients; 0 means no limit.
struct RateLimitConfiguration: Sendable, Equatable {
    /// Events and notifications per secret.
    var eventsPerMinute = 0
    /// Registrations, unregistrations and device lists per secret.
    var registrationsPerMinute = 0
    /// Requests for secrets without devices and registrations of new devices, per client address.
    var unknownSecretsPerMinute = 0
    /// Pushes to an app on a device, from all secrets.
    var devicePushesPerMinute = 0
    /// New secrets that an app on a device is registered under.
    var deviceSecretsPerDay = 0
    /// Registration challenges sent to an app on a device.
    var challengesPerDevicePerHour = 0
    /// Registration challenges sent on behalf of a client address.
    var challengesPerAddressPerMinute = 0
    /// Background pushes that remove notifications, sent to an app on a device.
    var clearsPerDevicePerHour = Bounds.clearsPerDevicePerHour
    /// The proxies trusted to report the client's address.
    var trustedProxies = TrustedProxies()
}

/// The process's limits, checked before anything is stored or sent.
final class RateLimits: Sendable {
    private let events: RateLimiter?
    private let registrations: RateLimiter?
    private let unknownSecrets: RateLimiter?
    private let devicePushes: RateLimiter?
    private let deviceSecrets: RateLimiter?
    /// The pairs of device and secret already counted by ``deviceSecrets``.
    private let pairs: RateLimiter?
    private let challengesToDevices: RateLimiter?
    private let challengesForAddresses: RateLimiter?
    private let clears: RateLimiter?
    private let trustedProxies: TrustedProxies

    private static let day: Duration = .seconds(86_400)

    /// Creates limits with full buckets.
    init(_ configuration: RateLimitConfiguration) {
        events = RateLimiter(perMinute: configuration.eventsPerMinute)
        registrations = RateLimiter(perMinute: configuration.registrationsPerMinute)
        unknownSecrets = RateLimiter(perMinute: configuration.unknownSecretsPerMinute)
        devicePushes = RateLimiter(perMinute: configuration.devicePushesPerMinute)
        deviceSecrets = RateLimiter(configuration.deviceSecretsPerDay, per: Self.day)
        pairs = RateLimiter(min(1, configuration.deviceSecretsPerDay), per: Self.day)
        challengesToDevices = RateLimiter(
            configuration.challengesPerDevicePerHour, per: .seconds(3600))
        challengesForAddresses = RateLimiter(perMinute: configuration.challengesPerAddressPerMinute)
        clears = RateLimiter(configuration.clearsPerDevicePerHour, per: .seconds(3600))
        trustedProxies = configuration.trustedProxies
    }

    // MARK: Secrets

    /// Counts an event sent under a secret.
    ///
    /// - Throws: `rate_limited` if the limit is exceeded.
    func countEvent(_ key: SecretKey, at now: MonotonicTime) throws(APIError) {
        try check(
            events?.take(key.primary, at: now), .events, hint: "This secret sent too many events.")
    }

    /// Counts a registration under a secret, or a request that costs as much.
    ///
    /// - Throws: `rate_limited` if the limit is exceeded.
    func countRegistration(_ key: SecretKey, at now: MonotonicTime) throws(APIError) {
        try check(
            registrations?.take(key.primary, at: now), .registrations,
            hint: "This secret sent too many registrations.")
    }

    /// Refuses a secret that has used up its limit on events or registrations; counts nothing.
    ///
    /// - Throws: `rate_limited`.
    func check(_ key: SecretKey, isEvent: Bool, at now: MonotonicTime) throws(APIError) {
        try check(
            (isEvent ? events : registrations)?.wait(key.primary, at: now),
            isEvent ? .events : .registrations,
            hint: "This secret sent too many \(isEvent ? "events" : "registrations").")
    }

    // MARK: Addresses

    /// Counts a request against its client address.
    ///
    /// Counted requests contain a secret without devices, register a new device, or have a wrong key.
    ///
    /// - Throws: `rate_limited` if the limit is exceeded.
    func countUnknownSecret(_ request: Request, at now: MonotonicTime) throws(APIError) {
        guard let unknownSecrets else { return }
        try check(
            unknownSecrets.take(address(of: request), at: now), .unknownSecrets,
            hint:
                "This address named too many secrets without devices, or registered too many new devices."
        )
    }

    /// Refuses a request whose client address has used up its limit; counts nothing.
    ///
    /// - Throws: `rate_limited`.
    func checkUnknownSecret(_ request: Request, at now: MonotonicTime) throws(APIError) {
        try check(
            unknownSecrets?.wait(address(of: request), at: now), .unknownSecrets,
            hint: "This address sent too many wrong signatures.")
    }

    private func address(of request: Request) -> UInt64 {
        trustedProxies.client(of: request)?.clientKey ?? 0
    }

    // MARK: Devices

    /// Whether devices that are new under their secret are counted, so that the relay must find out which are new.
    var countsNewDevices: Bool { unknownSecrets != nil || deviceSecrets != nil }

    /// Counts a push to a device; false if it exceeds the limit and must not be sent.
    func takePush(to device: DeviceKey, at now: MonotonicTime) -> Bool {
        devicePushes?.take(device, at: now) == nil
    }

    /// Counts a push that removes a notification; false if the device has already received as many as Apple recommends.
    func takeClear(to device: DeviceKey, at now: MonotonicTime) -> Bool {
        clears?.take(device, at: now) == nil
    }

    /// Counts a secret that a device isn't registered under yet.
    ///
    /// A secret counted for the device within the last day isn't counted again.
    ///
    /// - Throws: `rate_limited` if the device has too many new secrets.
    func countNewSecret(_ key: SecretKey, of device: DeviceKey, at now: MonotonicTime) throws(APIError) {
        guard let deviceSecrets, let pairs else { return }
        let pair = Pair(device: device, secret: key.primary)
        guard pairs.isFull(pair, at: now) else { return }
        try check(
            deviceSecrets.take(device, at: now), .deviceSecrets,
            hint: "This device was registered under too many new secrets.")
        _ = pairs.take(pair, at: now)
    }

    private struct Pair: Hashable {
        let device: DeviceKey
        let secret: SecretHash
    }

    /// Counts a registration challenge against its device and the requesting address.
    ///
    /// - Throws: `rate_limited` if a limit is exceeded.
    func countChallenge(
        to device: DeviceKey, _ request: Request, at now: MonotonicTime
    ) throws(APIError) {
        try check(
            challengesForAddresses?.take(address(of: request), at: now), .challenges,
            hint: "This address requested too many registration challenges.")
        try check(
            challengesToDevices?.take(device, at: now), .challenges,
            hint: "This device was sent too many registration challenges.")
    }

    // MARK: Refusing

    private func check(_ wait: Duration?, _ limit: LimitKind, hint: String) throws(APIError) {
        guard let wait else { return }
        var error = APIError(.rateLimited, hint: hint, logDetail: limit.rawValue, limit: limit)
        error.retryAfterSeconds = Self.wholeSeconds(wait)
        throw error
    }

    /// The wait in seconds, rounded up.
    static func wholeSeconds(_ wait: Duration) -> Int {
        let (seconds, attoseconds) = wait.components
        return max(1, Int(seconds) + (attoseconds > 0 ? 1 : 0))
    }
}
