import Network
import Storage

extension FakeStorage {
    func note(_ uses: [(use: AgentUse, key: SecretKey)]) async throws(StorageError) {
        await state.withLock(\.agentGate)?.pass()
        try checked { state in
            state.agentBatches.append(uses.count)
            for (use, key) in uses {
                let known = state.agentUses[key.primary]
                state.agentUses[key.primary] = AgentUse(
                    usedAt: use.usedAt, client: use.client ?? known?.client)
            }
        }
    }

    func agentUse(
        of key: SecretKey, deliveries: Int
    ) async throws(StorageError) -> (use: AgentUse?, deliveries: [Delivery]) {
        let use = try checked { state in
            key.hashes.compactMap { state.agentUses[$0] }.max { $0.usedAt < $1.usedAt }
        }
        return (use, try await self.deliveries(of: key, before: nil, limit: deliveries))
    }
}
