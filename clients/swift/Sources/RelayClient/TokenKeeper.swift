public import PushSealing

/// What a ``TokenKeeper`` remembers: which token a relay has for a pairing.
public struct KeptToken: Sendable, Equatable, Codable {
    /// The pairing's ID; see ``PushSealing/Pairing/id``.
    public let pairingID: String
    /// The token in hexadecimal digits.
    public let token: String
    /// The relay that still has to unregister the token, although the app has removed the pairing.
    var forgottenBy: ForgottenRelay?
}

/// What is needed to unregister once the pairing is gone.
struct ForgottenRelay: Sendable, Equatable, Codable, CustomStringConvertible, CustomReflectable {
    let relayURL: String
    let relaySecret: String

    var description: String { "<relay to unregister from>" }
    var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

    /// The pairing with only what is needed to unregister.
    var pairing: Pairing? {
        try? Pairing(relayURL: relayURL, relaySecret: relaySecret, hosts: [relayURL], serverID: nil, key: nil)
    }
}

/// Where an app keeps what its ``TokenKeeper`` remembers.
///
/// Store it in the Keychain: it contains the secret of a removed pairing until the relay has unregistered the device.
public protocol TokenStore: Sendable {
    /// What was saved last; nothing at first.
    func load() -> [KeptToken]
    /// Replaces what was saved.
    func save(_ tokens: [KeptToken])
}

/// Keeps the relays' device tokens current.
///
/// Call ``update(_:for:)`` whenever the app starts, when APNs gives it a new token, and when a pairing is added; call
/// ``forget(_:)`` when a pairing is removed.
public actor TokenKeeper {
    /// The maximum number of removals that wait for their relay; the oldest are dropped.
    static let forgottenMax = 16
    /// The maximum number of tokens that are remembered per pairing; the oldest are dropped.
    static let tokensMax = 8

    private let store: any TokenStore
    private let relay: @Sendable (Pairing) -> Relay?
    // The latest call, for which the next one waits: concurrent calls could leave the older token registered.
    private var last: Task<Void, Never>?

    /// Creates a keeper with a store.
    ///
    /// - Parameter relay: Makes the relay for a pairing.
    public init(store: any TokenStore, relay: @escaping @Sendable (Pairing) -> Relay? = { Relay($0) }) {
        self.store = store
        self.relay = relay
    }

    /// Registers a device under each pairing, and removes the token that it had before.
    ///
    /// A failure at one relay doesn't affect the others. The old token is removed only after the relay has the new one;
    /// if that fails, the next call tries again. A token is remembered before its relay responds, so that it is
    /// unregistered later if its registration timed out but took effect.
    ///
    /// Finally, retries ``forget(_:)`` calls that failed.
    ///
    /// - Returns: Each pairing's result, in order.
    public func update(
        _ registration: Registration, for pairings: [Pairing]
    ) async -> [Result<Registration.Outcome, RelayError>] {
        await inTurn {
            var results: [Result<Registration.Outcome, RelayError>] = []
            await self.keep(pairings)
            for pairing in pairings { results.append(await self.update(registration, pairing)) }
            await self.unregisterForgotten()
            return results
        }
    }

    /// Removes all of a pairing's tokens from its relay; the app may delete the pairing regardless of the result.
    ///
    /// - Throws: ``RelayError``; the next ``update(_:for:)`` removes what is left.
    public func forget(_ pairing: Pairing) async throws(RelayError) {
        let removed: Result<Void, RelayError> = await inTurn {
            await self.noteForgotten(pairing)
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
        let isNew = note(registration.token, of: pairing)
        do throws(RelayError) {
            let outcome = try await relay.register(registration)
            if case .challenged = outcome {
                if isNew { drop(registration.token, of: pairing) }
                return .success(outcome)
            }
            // The registration counts even if the old token stays for now.
            try? await remove(tokens(of: pairing).filter { $0 != registration.token }, pairing)
            return .success(outcome)
        } catch {
            if isNew, error.isFinal { drop(registration.token, of: pairing) }
            return .failure(error)
        }
    }

    /// Remembers a token before the relay is asked to register it: a request without a response may have taken effect.
    ///
    /// - Returns: Whether the token wasn't remembered before.
    private func note(_ token: DeviceToken, of pairing: Pairing) -> Bool {
        guard !tokens(of: pairing).contains(token) else { return false }
        change { kept in
            kept.append(KeptToken(pairingID: pairing.id, token: token.hex))
            let own = kept.indices.filter { kept[$0].pairingID == pairing.id }
            for index in own.dropLast(Self.tokensMax).reversed() { kept.remove(at: index) }
        }
        return true
    }

    private func drop(_ token: DeviceToken, of pairing: Pairing) {
        change { $0.removeAll { $0.pairingID == pairing.id && $0.token == token.hex } }
    }

    /// Remembers what to unregister before asking the relay, since the app may be terminated in the meantime.
    private func noteForgotten(_ pairing: Pairing) {
        let relay = ForgottenRelay(relayURL: pairing.relayURL, relaySecret: pairing.relaySecret)
        change { kept in
            for index in kept.indices where kept[index].pairingID == pairing.id {
                kept[index].forgottenBy = relay
            }
            let forgotten = kept.indices.filter { kept[$0].forgottenBy != nil }
            for index in forgotten.dropLast(Self.forgottenMax).reversed() { kept.remove(at: index) }
        }
    }

    /// Cancels the removal of pairings that the app has added again.
    private func keep(_ pairings: [Pairing]) {
        let ids = Set(pairings.map(\.id))
        guard store.load().contains(where: { $0.forgottenBy != nil && ids.contains($0.pairingID) }) else {
            return
        }
        change { kept in
            for index in kept.indices where ids.contains(kept[index].pairingID) {
                kept[index].forgottenBy = nil
            }
        }
    }

    /// Tries again to unregister tokens whose relay was unavailable.
    private func unregisterForgotten() async {
        for kept in store.load() {
            guard let forgotten = kept.forgottenBy else { continue }
            guard let pairing = forgotten.pairing, let token = DeviceToken(hex: kept.token) else {
                change { $0.removeAll { $0 == kept } }
                continue
            }
            do throws(RelayError) {
                try await remove([token], pairing)
            } catch {
                // What the relay refuses for good won't succeed later.
                if error.isFinal { change { $0.removeAll { $0 == kept } } }
            }
        }
    }

    private func remove(_ tokens: [DeviceToken], _ pairing: Pairing) async throws(RelayError) {
        guard !tokens.isEmpty, let relay = relay(pairing) else { return }
        for token in tokens {
            try await relay.unregister(token)
            drop(token, of: pairing)
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
