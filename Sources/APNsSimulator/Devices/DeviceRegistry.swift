/// The device tokens that the simulated APNs knows.
package struct DeviceRegistry: Sendable {
    /// The state of a token for a topic.
    package enum State: Hashable, Sendable {
        case valid
        /// The app was removed at this time, in milliseconds since 1970; pushes are refused with 410 `Unregistered`.
        case unregistered(since: Int64)
        /// The token expired at this time, in milliseconds since 1970; pushes are refused with 410 `ExpiredToken`.
        case expired(since: Int64)
    }

    /// One registration of a token.
    package struct Registration: Hashable, Sendable {
        /// The environment that the token belongs to; `nil`: both.
        package var environment: PushEnvironment?
        /// The bundle identifier or full topic that the token is for; `nil`: any.
        package var topic: String?
        package var state: State

        /// Creates a registration.
        package init(environment: PushEnvironment? = nil, topic: String? = nil, state: State = .valid) {
            self.environment = environment
            self.topic = topic
            self.state = state
        }
    }

    /// The maximum number of tokens.
    package static let tokensMax = 1_000_000

    private var registrations: [ArraySlice<UInt8>: [Registration]] = [:]

    /// An empty registry.
    package init() {}

    /// The number of known tokens.
    package var count: Int { registrations.count }

    /// All known tokens, sorted, with their registrations.
    package var all: [(token: String, registrations: [Registration])] {
        registrations.map { (String(decoding: $0.key, as: UTF8.self), $0.value) }.sorted { $0.0 < $1.0 }
    }

    /// The registrations of a token; `token` must be in lower case.
    package func registrations(of token: String) -> [Registration] {
        registrations[Array(token.utf8)[...]] ?? []
    }

    /// Adds a registration or replaces the one for the same environment and topic.
    ///
    /// - Returns: False when the registry is full.
    package mutating func put(_ registration: Registration, for token: String) -> Bool {
        let key = Array(token.utf8)[...]
        guard registrations[key] != nil || count < Self.tokensMax else { return false }
        var known = registrations[key] ?? []
        known.removeAll { $0.environment == registration.environment && $0.topic == registration.topic }
        known.append(registration)
        registrations[key] = known
        return true
    }

    /// Removes a token.
    ///
    /// - Returns: Whether it was known.
    package mutating func remove(_ token: String) -> Bool {
        registrations.removeValue(forKey: Array(token.utf8)[...]) != nil
    }

    /// Removes all tokens.
    package mutating func removeAll() { registrations = [:] }

    /// Checks whether APNs would accept a push, given the state of its device token.
    ///
    /// - Parameter acceptsUnknown: Whether unregistered tokens count as valid.
    /// - Throws: `BadDeviceToken`, `DeviceTokenNotForTopic`, `Unregistered` or `ExpiredToken`.
    package func check(_ push: CheckedPush, in environment: PushEnvironment, acceptsUnknown: Bool)
        throws(PushRefusal)
    {
        guard !registrations.isEmpty, let known = registrations[push.deviceToken] else {
            guard acceptsUnknown else {
                throw PushRefusal(.badDeviceToken, "the device token is not registered")
            }
            return
        }
        let here = known.filter { $0.environment == nil || $0.environment == environment }
        guard !here.isEmpty else {
            throw PushRefusal(.badDeviceToken, "the device token belongs to the other environment")
        }
        // A registration for a specific environment and topic overrides a general one.
        let best = here.filter { $0.matches(topic: push.topic) }.max { $0.precision < $1.precision }
        switch best?.state {
        case nil: throw PushRefusal(.deviceTokenNotForTopic, "the device token is for another topic")
        case .valid: break
        case .unregistered(let since):
            throw PushRefusal(.unregistered, "the device token is no longer registered", timestamp: since)
        case .expired(let since):
            throw PushRefusal(.expiredToken, "the device token has expired", timestamp: since)
        }
    }
}

extension DeviceRegistry.Registration {
    fileprivate func matches(topic: ArraySlice<UInt8>) -> Bool {
        guard let own = self.topic?.utf8 else { return true }
        return topic.elementsEqual(own) || Topic.bundle(of: topic).elementsEqual(own)
    }

    fileprivate var precision: Int { (environment == nil ? 0 : 1) + (topic == nil ? 0 : 2) }
}
