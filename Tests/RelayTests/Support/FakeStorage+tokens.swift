import Network
import Storage

extension FakeStorage {
    func save(_ token: PushToken, under key: SecretKey) async throws(StorageError) -> Bool {
        try checked { state in
            guard state.devices.contains(where: { key.hashes.contains($0.secretHash) }) else { return false }
            let others = state.tokens.filter {
                $0.kind == token.kind && $0.sessionID == token.sessionID && $0.secretHash == token.secretHash
                    && $0.token != token.token && $0.deviceID != nil && $0.deviceID == token.deviceID
            }
            state.tokens.removeAll {
                others.contains($0)
                    || $0.kind == token.kind && $0.sessionID == token.sessionID
                        && $0.secretHash == token.secretHash && $0.token == token.token
            }
            state.tokens.append(others.isEmpty ? token : token.succeeding(others))
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
            let activities = state.tokens.filter {
                $0.kind == .activity && $0.sessionID == wanted.sessionID && key.hashes.contains($0.secretHash)
                    && !state.ended.contains($0.id)
            }
            var turn = ActivityTurn(of: wanted, among: activities)
            for next in turn.updates {
                state.tokens = state.tokens.map { $0.id == next.id ? next : $0 }
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

    func releaseStarts(_ starts: [PushToken], session sessionID: String) async throws(StorageError) {
        try checked { state in
            for start in starts { state.started.remove((start.deviceID ?? "") + sessionID) }
        }
    }

    func endActivities(sent: [PushToken], queued: [PushToken]) async throws(StorageError) {
        try checked { state in
            state.tokens.removeAll { token in sent.contains { $0.id == token.id } }
            state.ended.formUnion(queued.map(\.id))
        }
    }
}
