/// Activity tokens that were replaced by newer ones for the same device and session.
///
/// A registration may arrive late, or again after its response was lost. Rows of a kind of their own
/// (`PushTokenKind.replacedColumn`) record the replaced tokens, so that a late registration doesn't displace their
/// successors.
extension SQLSession {
    /// Whether the device has replaced this activity token with another token that it still has.
    func isReplaced(_ token: PushToken, under hash: SecretHash) throws(SQLFailure) -> Bool {
        guard token.kind == .activity, let device = token.deviceID else { return false }
        let mark = Self.mark(of: token, under: hash)
        let isMarked = "secret_hash = ? AND kind = ? AND session_id = ? AND token = ?"
        let marks = try count(
            "SELECT count(*) FROM push_token WHERE \(isMarked) AND device_id = ? AND expires_at > ?",
            mark + [.text(device), .integer(token.updatedAt)])
        guard marks > 0 else { return false }
        let successors = try count(
            """
            SELECT count(*) FROM push_token
            WHERE secret_hash = ? AND kind = ? AND session_id = ? AND device_id = ? AND token <> ?
                AND expires_at > ?
            """,
            [
                .hash(hash), .text(token.kind.rawValue), .text(token.sessionID), .text(device),
                .text(token.token), .integer(token.updatedAt),
            ])
        guard successors == 0 else { return true }
        _ = try execute("DELETE FROM push_token WHERE \(isMarked)", mark)
        return false
    }

    /// Records that a token replaced others; the oldest records beyond the limit are dropped.
    func noteReplaced(_ others: [PushToken], by token: PushToken, under hash: SecretHash) throws(SQLFailure) {
        guard token.kind == .activity, !others.isEmpty else { return }
        for other in others {
            var values = other.values(under: hash)
            values[1] = .text(PushTokenKind.replacedColumn)
            values[10] = .integer(token.updatedAt)
            values[11] = token.expiresAt.map { .integer($0) } ?? .null
            _ = try execute(PushToken.insertion(dialect), values)
        }
        let kind: [SQLValue] = [.hash(hash), .text(PushTokenKind.replacedColumn)]
        let last = try integer(
            """
            SELECT updated_at FROM push_token WHERE secret_hash = ? AND kind = ?
            ORDER BY updated_at DESC LIMIT 1 OFFSET ?
            """, kind + [.limit(StorageLimits.activitiesMax)])
        guard let last else { return }
        _ = try execute(
            "DELETE FROM push_token WHERE secret_hash = ? AND kind = ? AND updated_at <= ?",
            kind + [.integer(last)])
    }

    private static func mark(of token: PushToken, under hash: SecretHash) -> [SQLValue] {
        [
            .hash(hash), .text(PushTokenKind.replacedColumn), .text(token.sessionID), .text(token.token),
        ]
    }
}
