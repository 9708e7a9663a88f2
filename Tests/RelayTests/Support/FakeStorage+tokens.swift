import Network
import Storage

extension FakeStorage {
    func save(_ token: PushToken, under key: SecretKey) async throws(StorageError) -> Bool {
        try checked { state in
            guard state.devices.contains(where: { key.hashes.contains($0.secretHash) }) else { return false }
            state.tokens.removeAll {
                $0.kind == token.kind && $0.sessionID == token.sessionID && $0.secretHash == token.secretHash
                    && ($0.token == token.token || $0.deviceID != nil && $0.deviceID == token.deviceID)
            }
            state.tokens.append(token)
            return true
        }
    }

    func removeTokens(
        _ kind: PushTokenKind, session: String, token: String?, device: String?, under key: SecretKey
    ) async throws(StorageError) -> Int {
        try checked { state in
            let before = state.tokens.count
            state.tokens.removeAll {
                $0.kind == kind && $0.sessionID == session && key.hashes.contains($0.secretHash)
                    && (token == nil || $0.token == token) && (device == nil || $0.deviceID == device)
            }
            return before - state.tokens.count
        }
    }

    func tokens(
        _ kind: PushTokenKind, of key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> [PushToken] {
        try checked { state in
            state.tokens.filter { $0.kind == kind && key.hashes.contains($0.secretHash) }
        }
    }

    func take(_ wanted: ActivityState, under key: SecretKey) async throws(StorageError) -> ActivityTurn {
        try checked { state throws(StorageError) in
            state.takes += 1
            if let failure = state.writeFailure { throw failure }
            var turn = ActivityTurn()
            for index in state.tokens.indices {
                let token = state.tokens[index]
                guard token.kind == .activity, token.sessionID == wanted.sessionID,
                    key.hashes.contains(token.secretHash), !state.ended.contains(token.id)
                else { continue }
                if let device = token.deviceID { turn.devices.insert(device) }
                switch token.turn(for: wanted) {
                case .now(let next):
                    state.tokens[index] = next
                    turn.updates.append(next)
                case .later(let until):
                    turn.held += 1
                    turn.heldUntil = until
                case .never: break
                }
            }
            guard wanted.isStarting else { return turn }
            for start in state.tokens where start.kind == .start && key.hashes.contains(start.secretHash) {
                guard let device = start.deviceID, !turn.devices.contains(device),
                    state.started.insert(device + wanted.sessionID).inserted
                else { continue }
                turn.starts.append(start.stamped(wanted.at / 1_000))
            }
            return turn
        }
    }

    func endActivities(sent: [PushToken], queued: [PushToken]) async throws(StorageError) {
        try checked { state in
            state.tokens.removeAll { token in sent.contains { $0.id == token.id } }
            state.ended.formUnion(queued.map(\.id))
        }
    }
}
