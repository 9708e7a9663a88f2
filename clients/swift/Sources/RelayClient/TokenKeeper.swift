public import PushSealing

/// What a ``TokenKeeper`` remembers: which token a relay has for a pairing.
public struct KeptToken: Sendable, Equatable, Codable {
    /// The pairing; see ``PushSealing/Pairing/id``.
    public let pairingID: String
    /// The token in hexadecimal digits.
    public let token: String
}

/// Where an app keeps what its ``TokenKeeper`` remembers.
///
/// Nothing in it is secret.
public protocol TokenStore: Sendable {
    /// What was saved last; nothing at first.
    func load() -> [KeptToken]
    /// Replaces what was saved.
    func save(_ tokens: [KeptToken])
}

/// Keeps the relays' device tokens current.
///
/// Call ``update(_:for:)`` at each start of the app, when APNs gives it another token, and when a pairing is added;
/// ``forget(_:)`` when one is removed.
public actor TokenKeeper {
    private let store: any TokenStore
    private let relay: @Sendable (Pairing) -> Relay?
    // The call before the next one: two at once could end with the older token.
    private var last: Task<Void, Never>?

    /// A keeper with a store.
    ///
    /// - Parameter relay: Makes the relay of a pairing.
    public init(store: any TokenStore, relay: @escaping @Sendable (Pairing) -> Relay? = { Relay($0) }) {
        self.store = store
        self.relay = relay
    }

    /// Registers a device under each pairing, and removes the token that it had before.
    ///
    /// One relay's failure doesn't keep the others from being asked. The old token goes only after the relay has the new
    /// one; if that fails, the next call tries again.
    ///
    /// - Returns: Each pairing's result, in order.
    public func update(
        _ registration: Registration, for pairings: [Pairing]
    ) async -> [Result<Registration.Outcome, RelayError>] {
        await inTurn {
            var results: [Result<Registration.Outcome, RelayError>] = []
            for pairing in pairings { results.append(await self.update(registration, pairing)) }
            return results
        }
    }

    /// Removes all of a pairing's tokens from its relay.
    ///
    /// - Throws: ``RelayError``; the tokens that are left are removed by the next call.
    public func forget(_ pairing: Pairing) async throws(RelayError) {
        let removed: Result<Void, RelayError> = await inTurn {
            do throws(RelayError) {
                return .success(try await self.remove(self.tokens(of: pairing), pairing))
            } catch {
                return .failure(error)
            }
        }
        try removed.get()
    }

    private func inTurn<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
        let task = Task { [last] in
            await last?.value
            return await work()
        }
        last = Task { _ = await task.value }
        return await task.value
    }

    private func update(
        _ registration: Registration, _ pairing: Pairing
    ) async -> Result<Registration.Outcome, RelayError> {
        guard let relay = relay(pairing) else { return .failure(.unreachable("invalid URL")) }
        do throws(RelayError) {
            let outcome = try await relay.register(registration)
            guard outcome == .registered else { return .success(outcome) }
            let old = tokens(of: pairing).filter { $0 != registration.token }
            change { kept in
                let token = KeptToken(pairingID: pairing.id, token: registration.token.hex)
                if !kept.contains(token) { kept.append(token) }
            }
            // The registration counts even if the old token stays for now.
            try? await remove(old, pairing)
            return .success(outcome)
        } catch {
            return .failure(error)
        }
    }

    private func remove(_ tokens: [DeviceToken], _ pairing: Pairing) async throws(RelayError) {
        guard !tokens.isEmpty, let relay = relay(pairing) else { return }
        for token in tokens {
            try await relay.unregister(token)
            change { kept in
                kept.removeAll { $0.pairingID == pairing.id && $0.token == token.hex }
            }
        }
    }

    private func tokens(of pairing: Pairing) -> [DeviceToken] {
        store.load().filter { $0.pairingID == pairing.id }.compactMap { DeviceToken(hex: $0.token) }
    }

    private func change(_ change: (inout [KeptToken]) -> Void) {
        var kept = store.load()
        change(&kept)
        store.save(kept)
    }
}
