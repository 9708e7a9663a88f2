import APNs
import HTTPServer
import Network
import Programs
import Storage

/// How a route's tenants are admitted.
enum Admission: Sendable {
    /// For routes that send something: requests count as events; blocked secrets are refused.
    case sending
    /// For routes that add or answer something: requests count as registrations; blocked secrets are refused.
    case registering
    /// For routes that read or remove the tenant's data: requests count as registrations; blocked secrets are admitted.
    case reading

    fileprivate var refusesBlocked: Bool {
        switch self {
        case .sending, .registering: true
        case .reading: false
        }
    }
}

/// A tenant whose request has passed admission, the stage that all tenant routes share.
///
/// Only `LoopServices.admit` creates this value, so code that needs it can't run unless the request is within the
/// limits.
struct AdmittedTenant {
    /// The tenant's key.
    let key: SecretKey
    /// The secret; empty, and thus too weak for anything, if the request has an access token instead.
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

    /// Counts another event in the request; admission has already counted the first one.
    ///
    /// - Throws: `rate_limited` if the limit is exceeded.
    func countEvent() throws(APIError) { try services.count(key, isEvent: true, at: services.loop.now) }

    /// Counts the request against its client's address, because its secret may be a guess.
    ///
    /// - Throws: `rate_limited` if the limit is exceeded.
    func countAsUnknown() throws(APIError) {
        try services.shared.rates.countUnknownSecret(request, at: services.loop.now)
    }

    /// Records that the secret has what the request refers to, or else counts the request against its client's address.
    ///
    /// - Throws: `rate_limited` if the limit is exceeded.
    func note(isKnown: Bool) throws(APIError) {
        if isKnown { services.noteKnown() } else { try countAsUnknown() }
    }
}

extension LoopServices {
    /// Admits a secret's tenant, or throws the reason for the refusal.
    ///
    /// - Parameter token: A device token to log.
    func admit(
        _ secret: Secret, to admission: Admission, _ request: Request, _ started: MonotonicTime,
        device token: DeviceToken? = nil, _ trace: inout RequestTrace
    ) throws(APIError) -> AdmittedTenant {
        let recorder = recorder
        let begun = recorder?.enter()
        var isAdmitted = false
        defer { if let begun { recorder?.leave(begun, "admission", isFailed: !isAdmitted) } }
        let tenant = try admit(
            secret, shared.hasher.key(of: secret), to: admission, request, started, device: token, &trace)
        isAdmitted = true
        return tenant
    }

    /// Throws if a secret's tenant would be refused now; counts nothing against the limits.
    func check(
        _ secret: Secret, for admission: Admission, _ trace: inout RequestTrace
    ) throws(APIError) {
        let key = shared.hasher.key(of: secret)
        do throws(APIError) {
            try refuseBlocked(key, admission)
            let isEvent = admission == .sending
            try limited(key, isEvent: isEvent) { () throws(APIError) in
                try shared.rates.check(key, isEvent: isEvent, at: loop.now)
            }
        } catch {
            trace.add(.secretHash(key.primary))
            throw error
        }
    }

    private func refuseBlocked(_ key: SecretKey, _ admission: Admission) throws(APIError) {
        guard !admission.refusesBlocked || !shared.blocked.contains(key) else { throw APIError(.blocked) }
    }

    /// Records that the current request's secret has devices, or something that only devices leave behind, so that the
    /// request's trace may be exported.
    func noteKnown() { recorder?.noteKnown() }

    /// The recorder of the current request, if it is traced.
    private var recorder: SpanRecorder? { shared.tracer == nil ? nil : .current }

    /// Admits the tenant of a secret or an access token, or throws the reason for the refusal.
    ///
    /// - Parameters:
    ///   - scope: The scope that a token must have; `nil` if no token is admitted.
    ///   - device: A device token to log.
    func admit(
        _ credential: Credential, to admission: Admission, _ scope: AccessTokenScope?, _ request: Request,
        _ started: MonotonicTime, device: DeviceToken? = nil, _ trace: inout RequestTrace
    ) async throws(APIError) -> AdmittedTenant {
        let recorder = recorder
        let begun = recorder?.enter()
        var isAdmitted = false
        defer { if let begun { recorder?.leave(begun, "admission", isFailed: !isAdmitted) } }
        let tenant = try await admitted(
            credential, to: admission, scope, request, started, device: device, &trace)
        isAdmitted = true
        return tenant
    }

    private func admitted(
        _ credential: Credential, to admission: Admission, _ scope: AccessTokenScope?, _ request: Request,
        _ started: MonotonicTime, device: DeviceToken?, _ trace: inout RequestTrace
    ) async throws(APIError) -> AdmittedTenant {
        let digest: Digest256
        switch credential {
        case .secret(let secret):
            return try admit(
                secret, shared.hasher.key(of: secret), to: admission, request, started, device: device, &trace
            )
        case .token(let given): digest = given
        }
        let now = shared.clock.now
        let token: AccessToken?
        do throws(StorageError) {
            token = try await shared.storage.accessToken(digest)
        } catch {
            throw APIError(error)
        }
        guard let token, token.isValid(at: now) else {
            try shared.rates.countUnknownSecret(request, at: started)
            throw APIError(.invalidToken)
        }
        trace.add(.note("token_id", token.id.text))
        guard token.scope == scope else {
            // The token's holder must not use up the secret's limits.
            trace.add(.secretHash(token.secretHash))
            try shared.rates.countUnknownSecret(request, at: started)
            throw APIError(.forbidden, hint: "Its scope is \(token.scope.rawValue).")
        }
        let tenant = try admit(
            Secret([]), SecretKey(primary: token.secretHash), to: admission, request, started,
            device: device, &trace)
        noteKnown()
        if token.usedAt.map({ now - $0 >= Bounds.accessTokenUseInterval.inMilliseconds }) ?? true,
            tokenUses.isDue(token.id, at: started)
        {
            // The request needn't fail just because the time of the token's use can't be stored.
            try? await shared.storage.noteUse(of: token, at: now)
        }
        return tenant
    }

    private func admit(
        _ secret: Secret, _ key: SecretKey, to admission: Admission, _ request: Request,
        _ started: MonotonicTime, device token: DeviceToken?, _ trace: inout RequestTrace
    ) throws(APIError) -> AdmittedTenant {
        trace.add(.secretHash(key.primary))
        if let token { trace.add(.device(token)) }
        try refuseBlocked(key, admission)
        try count(key, isEvent: admission == .sending, at: started)
        return AdmittedTenant(secret, key, request, started, self)
    }

    /// Counts an event or a registration for a tenant.
    fileprivate func count(_ key: SecretKey, isEvent: Bool, at now: MonotonicTime) throws(APIError) {
        try limited(key, isEvent: isEvent) { () throws(APIError) in
            if isEvent {
                try shared.rates.countEvent(key, at: now)
            } else {
                try shared.rates.countRegistration(key, at: now)
            }
        }
        tenants.note(key.primary, isEvent: isEvent, isLimited: false, at: shared.clock.now)
    }

    /// Records a tenant that `check` refuses.
    private func limited(
        _ key: SecretKey, isEvent: Bool, _ check: () throws(APIError) -> Void
    ) throws(APIError) {
        do throws(APIError) {
            try check()
        } catch {
            tenants.note(key.primary, isEvent: isEvent, isLimited: true, at: shared.clock.now)
            throw error
        }
    }
}
