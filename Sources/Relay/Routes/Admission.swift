import APNs
import HTTPServer
import Network
import Storage

/// How a route's tenants are admitted.
enum Admission: Sendable {
    /// Sending: counts as an event; blocked secrets are refused.
    case sending
    /// Adding or answering something: counts as a registration; blocked secrets are refused.
    case registering
    /// Reading or removing what the tenant has: counts as a registration; a blocked secret may.
    case reading

    fileprivate var refusesBlocked: Bool {
        switch self {
        case .sending, .registering: true
        case .reading: false
        }
    }
}

/// A tenant whose request has passed the stage that all routes share.
///
/// Only ``LoopServices/admit(_:to:_:_:device:_:)`` makes one, so code that needs one can't be reached without limits.
struct AdmittedTenant {
    /// The tenant's key.
    let key: SecretKey
    let secret: Secret
    /// When the request was received.
    let started: MonotonicTime
    let request: Request
    private let services: LoopServices

    fileprivate init(
        _ secret: Secret, _ key: SecretKey, _ request: Request, _ started: MonotonicTime,
        _ services: LoopServices
    ) {
        (self.secret, self.key, self.request, self.started) = (secret, key, request, started)
        self.services = services
    }

    /// Counts the request against its client's address, because the secret may be guessed.
    ///
    /// - Throws: `rate_limited` if it exceeds the limit.
    func countAsUnknown() throws(APIError) {
        try services.shared.rates.countUnknownSecret(request, at: services.loop.now)
    }
}

extension LoopServices {
    /// Admits the tenant of a secret, or throws why not.
    ///
    /// - Parameter token: A token that the log shows.
    func admit(
        _ secret: Secret, to admission: Admission, _ request: Request, _ started: MonotonicTime,
        device token: DeviceToken? = nil, _ trace: inout RequestTrace
    ) throws(APIError) -> AdmittedTenant {
        let key = shared.hasher.key(of: secret)
        trace.add(.secretHash(key.primary))
        if let token { trace.add(.device(token)) }
        guard !admission.refusesBlocked || !shared.blocked.contains(key) else { throw APIError(.blocked) }
        switch admission {
        case .sending: try shared.rates.countEvent(key, at: started)
        case .registering, .reading: try shared.rates.countRegistration(key, at: started)
        }
        return AdmittedTenant(secret, key, request, started, self)
    }
}
