/// When an agent last used a secret: a row of `agent_use`.
package struct AgentUse: Hashable, Sendable {
    /// The time of the last use, accurate to half a minute.
    package let usedAt: EpochMilliseconds
    /// The name of the agent's client, without control characters; nil if unknown.
    package let client: String?

    /// Creates a record of a use; the client's name is truncated to ``StorageLimits/agentClientBytes``.
    package init(usedAt: EpochMilliseconds, client: String?) {
        self.usedAt = usedAt
        var name = String.UnicodeScalarView()
        for scalar in (client ?? "").unicodeScalars where scalar.properties.generalCategory != .control {
            name.append(scalar)
        }
        let cut = StorageText.cut(String(name), bytes: StorageLimits.agentClientBytes)
        self.client = cut.isEmpty ? nil : cut
    }
}
