import Storage
import Testing

private func token(
    _ token: String, _ key: SecretKey, _ kind: PushTokenKind = .activity, session: String = "ses_1",
    device: String? = nil, at time: EpochMilliseconds = Samples.time,
    expiresAt: EpochMilliseconds? = Samples.time + 1_000_000, type: String? = nil
) -> PushToken {
    PushToken(
        id: Samples.id(at: time).text, secretHash: key.primary, kind: kind, token: token,
        sessionID: kind == .activity ? session : "", deviceID: device, bundleID: "com.example.app",
        environment: .production, attributesType: type, createdAt: time, updatedAt: time,
        expiresAt: kind == .activity ? expiresAt : nil)
}

private func state(
    _ session: String = "ses_1", at time: EpochMilliseconds, now: EpochMilliseconds? = nil,
    interval: EpochMilliseconds? = nil, starting: Bool = false, isHeld: Bool = false
) -> ActivityState {
    ActivityState(
        sessionID: session, at: time, now: now,
        urgency: interval.map { .progress(interval: $0, starting: starting) } ?? .immediate,
        isHeld: isHeld)
}

/// The push that ends an activity.
private func end(_ token: PushToken) -> PendingPush {
    PendingPush(
        id: Samples.id().text, secretHash: token.secretHash, deviceID: token.id,
        eventType: "activity.complete", sessionID: token.sessionID, payload: [1], pushType: "liveactivity",
        priority: 10, collapseID: nil, attempts: 1, dueAt: Samples.time, createdAt: Samples.time,
        expiresAt: Samples.time + 86_400_000)
}

extension Storage {
    fileprivate func activities(_ key: SecretKey) async throws(StorageError) -> [PushToken] {
        try await tokens(.activity, of: key, at: Samples.time)
    }
}

extension ContractCase {
    static let pushTokens: [ContractCase] = [
        ContractCase(open: "only a secret with a device can have tokens, separate for each kind and session")
        {
            storage async throws in
            let key = Samples.key("secret")
            #expect(try await storage.save(token("aa", key), under: key) == false)
            let device = try await storage.registered("dd", key)
            let first = token("aa", key, device: device.id)
            let other = token("aa", key, session: "SES_1 ")
            let start = token("ss", key, .start, device: device.id, type: "App.Attributes")
            for token in [first, other, start] { #expect(try await storage.save(token, under: key)) }
            #expect(Set(try await storage.activities(key)) == [first, other])
            #expect(try await storage.tokens(.start, of: key, at: Samples.time) == [start])
            #expect(try await storage.tokens(.widgets, of: key, at: Samples.time) == [])
            #expect(try await storage.activities(Samples.key("Secret")) == [])
        },

        ContractCase(open: "a token registered again keeps its row, and a device's next token replaces it") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("dd", key)
            let first = token("aa", key, device: device.id)
            for _ in 0..<2 { #expect(try await storage.save(first, under: key)) }
            let again = try #require(try await storage.activities(key).first)
            #expect(again.id == first.id && again.updatedAt == first.updatedAt + 1)
            let turn = try await storage.take(state(at: Samples.time), under: key)
            #expect(turn.updates.map(\.stamp) == [Samples.time / 1_000])
            _ = try await storage.save(token("bb", key), under: key)
            _ = try await storage.save(token("cc", key, device: device.id), under: key)
            let stored = try await storage.activities(key)
            #expect(Set(stored.map(\.token)) == ["bb", "cc"])
            #expect(stored.first { $0.token == "cc" }?.stamp == Samples.time / 1_000)
            for text in ["s1", "s2"] {
                _ = try await storage.save(token(text, key, .start, device: device.id), under: key)
            }
            #expect(try await storage.tokens(.start, of: key, at: Samples.time).map(\.token) == ["s2"])
        },

        ContractCase(open: "an activity's token that was replaced doesn't displace its successor") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("dd", key)
            func save(_ text: String, session: String = "ses_1") async throws -> [String] {
                let token = token(text, key, session: session, device: device.id)
                #expect(try await storage.save(token, under: key))
                return try await storage.activities(key).map(\.token).sorted()
            }
            for (text, expected) in [("a1", "a1"), ("a2", "a2"), ("a1", "a2"), ("a3", "a3"), ("a2", "a3")] {
                #expect(try await save(text) == [expected], "\(text)")
            }
            #expect(
                try await storage.take(state(at: Samples.time), under: key).updates.map(\.token) == ["a3"])
            // Another session, or one whose successor is gone, may use the token.
            #expect(try await save("a1", session: "ses_2") == ["a1", "a3"])
            let removed = try await storage.removeTokens(
                .activity, session: "ses_1", token: nil, device: device.id, under: key)
            #expect(removed == 1)
            #expect(try await save("a1") == ["a1", "a1"])
            #expect(try await save("a2") == ["a1", "a1"], "a2 was replaced by a3")
        },

        ContractCase(open: "replaced tokens are remembered for a limited time and up to a limit") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("dd", key)
            let count = StorageLimits.activitiesMax + 5
            for index in 0..<count {
                let time = Samples.time + Int64(index)
                #expect(
                    try await storage.save(token("t\(index)", key, device: device.id, at: time), under: key))
            }
            #expect(try await storage.holdings(of: key).tokens <= StorageLimits.activitiesMax + 1)
            let end = Samples.time + 1_000_001
            #expect(try await storage.prune(.tokens, before: end, limit: 999) > StorageLimits.activitiesMax)
            #expect(try await storage.holdings(of: key).tokens == 0)
        },

        ContractCase(open: "an activity's timestamps increase, whichever relay sends its states") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("dd"), key)
            for text in ["aa", "bb"] { _ = try await storage.save(token(text, key), under: key) }
            let turns = try await concurrently(8) { _ in
                try await storage.take(state(at: Samples.time), under: key)
            }
            for index in 0..<2 {
                let first = Samples.time / 1_000
                #expect(turns.map { $0.updates[index].stamp }.sorted() == Array(first..<first + 8))
            }
            #expect(try await storage.take(state("ses_2", at: Samples.time), under: key).isEmpty)
        },

        ContractCase(open: "progress waits for its interval, and older progress is never sent") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("dd"), key)
            _ = try await storage.save(token("aa", key), under: key)
            let time = Samples.time
            #expect(try await storage.take(state(at: time, interval: 15_000), under: key).updates.count == 1)
            let held = try await storage.take(state(at: time + 1, interval: 15_000), under: key)
            #expect(held.held == 1 && held.heldUntil == time + 15_000 && held.updates.isEmpty)
            let urgent = try await storage.take(state(at: time + 2_000), under: key)
            #expect(urgent.updates.map(\.stamp) == [(time + 2_000) / 1_000])
            let older = state(at: time + 1, now: time + 15_000, interval: 15_000)
            #expect(try await storage.take(older, under: key).isEmpty)
            let newer = state(at: time + 2_001, now: time + 15_000, interval: 15_000)
            #expect(try await storage.take(newer, under: key).updates.count == 1)
        },

        ContractCase(open: "a postponed state reaches each activity once, also one with a new token") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("dd", key)
            let time = Samples.time
            func held(_ arrival: Int64, now: Int64) async throws -> [String] {
                let state = state(at: time + arrival, now: time + now, interval: 15_000, isHeld: true)
                return try await storage.take(state, under: key).updates.map(\.token).sorted()
            }
            _ = try await storage.save(token("aa", key, device: device.id), under: key)
            #expect(try await storage.take(state(at: time, interval: 15_000), under: key).updates.count == 1)
            _ = try await storage.save(token("bb", key), under: key)
            let second = try await storage.take(state(at: time + 8_000, interval: 15_000), under: key)
            #expect(second.updates.map(\.token) == ["bb"] && second.held == 1)
            #expect(second.heldUntil == time + 15_000 && second.at == time + 8_000)
            #expect(try await held(8_000, now: 15_000) == ["aa"])
            #expect(try await held(8_000, now: 23_000) == [])
            #expect(try await held(8_000, now: 30_000) == [])
            // Another state of the same moment.
            let third = try await storage.take(
                state(at: time + 8_000, now: time + 9_000, interval: 15_000), under: key)
            #expect(third.held == 2 && third.at == time + 8_001)
            #expect(try await held(8_001, now: 40_000) == ["aa", "bb"])
            _ = try await storage.save(token("cc", key, device: device.id), under: key)
            #expect(try await held(8_000, now: 41_000) == [])
            #expect(try await held(8_001, now: 41_000) == ["cc"])
            #expect(try await held(8_001, now: 80_000) == [])
        },

        ContractCase(open: "an activity is started once per session, device and hour") {
            storage async throws in
            let key = Samples.key("secret")
            var devices: [Device] = []
            for text in ["d1", "d2"] { devices.append(try await storage.registered(text, key)) }
            for device in devices {
                _ = try await storage.save(
                    token("s" + device.token, key, .start, device: device.id, type: "A"), under: key)
            }
            let shown = token("aa", key, device: devices[0].id, expiresAt: Samples.time + 100_000_000)
            _ = try await storage.save(shown, under: key)
            func starts(_ session: String, _ time: EpochMilliseconds) async throws -> [String] {
                let turns = try await concurrently(4) { _ in
                    try await storage.take(state(session, at: time, interval: 1, starting: true), under: key)
                }
                return turns.flatMap(\.starts).map(\.token).sorted()
            }
            #expect(try await starts("ses_1", Samples.time) == ["sd2"])
            #expect(try await starts("ses_1", Samples.time + 3_599_999) == [])
            #expect(try await starts("ses_1", Samples.time + 3_600_000) == ["sd2"])
            #expect(try await starts("ses_2", Samples.time + 3_600_000) == ["sd1", "sd2"])
            let other = try #require(try await storage.tokens(.start, of: key, at: Samples.time).first)
            try await storage.releaseStarts([other], session: "ses_2")
            #expect(try await starts("ses_2", Samples.time + 3_600_001) == [other.token])
            _ = try await storage.save(token("bb", key, session: "ses_3"), under: key)
            #expect(try await starts("ses_3", Samples.time) == [])
            for index in 0..<20 { _ = try await starts("many \(index)", Samples.time + 3_600_001) }
            #expect(try await starts("one more", Samples.time + 3_600_002) == [])
        },

        ContractCase(open: "the end of an activity waits in the queue for its token, not for a device") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("dd"), key)
            for text in ["aa", "bb", "cc"] { _ = try await storage.save(token(text, key), under: key) }
            let stored = try await storage.activities(key).sorted { $0.token < $1.token }
            let pushes = stored.map(end)
            #expect(
                try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
                    == [.queued, .queued, .queued])
            try await storage.endActivities(sent: [stored[0]], queued: [stored[1]])
            let turn = try await storage.take(state(at: Samples.time), under: key)
            #expect(turn.updates.map(\.token) == ["cc"])
            #expect(
                try await storage.enqueue([end(stored[0])], lease: nil, limitPerSecret: 9) == [.deviceGone])
            let claimed = try await storage.claimed(at: Samples.time)
            let found = claimed.sorted { $0.push.deviceID < $1.push.deviceID }
            #expect(found.map(\.push.deviceID) == stored.map(\.id).sorted())
            #expect(Set(found.compactMap(\.device?.token)) == ["bb", "cc"])
            #expect(found.compactMap(\.device).allSatisfy { $0.details.tokenKind == .activity })
        },

        ContractCase(open: "outcomes change a token's row and never a device's") { storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            _ = try await storage.save(token("aa", key, device: device.id), under: key)
            let recipient = try #require(try await storage.activities(key).first).recipient
            #expect(try await storage.setEnvironment(.sandbox, of: recipient))
            #expect(try await storage.activities(key).map(\.environment) == [.sandbox])
            #expect(try await storage.devices(of: key) == [device])
            #expect(
                try await storage.remove(recipient, ifNotUpdatedAfter: Samples.time - 1, at: Samples.time)
                    == false)
            #expect(
                try await storage.remove(recipient, ifNotUpdatedAfter: Samples.time, at: Samples.time))
            #expect(try await storage.activities(key) == [])
            #expect(try await storage.devices(of: key) == [device])
        },

        ContractCase(open: "tokens are removed with their device, secret or session, and when they expire") {
            storage async throws in
            let keys = ["left", "revoked", "unregistered"].map(Samples.key)
            for key in keys {
                for text in ["d1", "d2"] {
                    let device = try await storage.registered(text, key)
                    _ = try await storage.save(token("a" + text, key, device: device.id), under: key)
                    _ = try await storage.save(
                        token("w" + text, key, .widgets, device: device.id), under: key)
                }
                _ = try await storage.save(token("old", key, expiresAt: Samples.time + 1), under: key)
            }
            _ = try await storage.unregister(token: "d1", under: keys[0], at: Samples.time)
            #expect(Set(try await storage.activities(keys[0]).map(\.token)) == ["ad2", "old"])
            #expect(
                try await storage.tokens(.widgets, of: keys[0], at: Samples.time).map(\.token) == ["wd2"])
            let device = try #require(try await storage.devices(of: keys[0]).first)
            #expect(try await storage.remove(device, ifNotUpdatedAfter: .max, at: Samples.time))
            #expect(try await storage.activities(keys[0]).map(\.token) == ["old"])
            // The hash can be found by its prefix through any of the tables.
            let prefix = try #require(SecretHashPrefix(keys[0].primary.hex))
            #expect(
                try await storage.hashes(beginningWith: prefix, in: .everyTable, limit: 9)
                    == [keys[0].primary])
            #expect(try await storage.holdings(of: keys[0]) == Holdings(tokens: 1))
            let whole = Holdings(devices: 2, tokens: 5)
            #expect(try await storage.holdings(of: keys[1]) == whole)
            #expect(try await storage.revoke(keys[1], limit: 3) == Holdings(devices: 2, tokens: 3))
            #expect(try await storage.revoke(keys[1], limit: 3) == Holdings(tokens: 2))
            #expect(try await storage.holdings(of: keys[1]).isEmpty)
            #expect(try await storage.activities(keys[1]) == [])
            #expect(
                try await storage.removeTokens(
                    .activity, session: "ses_1", token: "ad1", device: nil, under: keys[2]) == 1)
            #expect(try await storage.prune(.tokens, before: Samples.time + 2, limit: 1) == 1)
            #expect(try await storage.prune(.tokens, before: Samples.time + 2, limit: 9) == 1)
            #expect(try await storage.prune(.tokens, before: Samples.time + 2, limit: 9) == 0)
            #expect(try await storage.activities(keys[2]).map(\.token) == ["ad2"])
            _ = try await storage.unregister(token: "d1", under: keys[2], at: Samples.time)
            _ = try await storage.unregister(token: "d2", under: keys[2], at: Samples.time)
            #expect(try await storage.activities(keys[2]) == [])
        },

        ContractCase(open: "a secret keeps its newest activities") { storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("dd"), key)
            for index in 0..<StorageLimits.activitiesMax + 2 {
                let new = token("t\(index)", key, session: "ses_\(index)", at: Samples.time + Int64(index))
                _ = try await storage.save(new, under: key)
            }
            let kept = Set(try await storage.activities(key).map(\.token))
            #expect(kept.count == StorageLimits.activitiesMax && !kept.contains("t1") && kept.contains("t2"))
        },

        ContractCase(open: "a change of pepper moves tokens, and queued ends find them") {
            storage async throws in
            let plain = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [2])), legacy: [plain.primary])
            let device = try await storage.registered("dd", plain)
            _ = try await storage.save(token("aa", plain, device: device.id), under: plain)
            _ = try await storage.save(token("ss", plain, .start, device: device.id), under: plain)
            let old = try #require(try await storage.activities(key).first)
            _ = try await storage.enqueue([end(old)], lease: nil, limitPerSecret: 9)
            #expect(try await storage.rehash(key))
            let moved = try #require(try await storage.activities(SecretKey(primary: key.primary)).first)
            #expect(moved.id == old.id && moved.deviceID == device.id && moved.secretHash == key.primary)
            #expect(try await storage.activities(plain) == [])
            #expect(try await storage.claimed(at: Samples.time).first?.device?.token == "aa")
        },
    ]
}
