import Storage
import StorageContract
import Testing

/// Rows that are hard to copy, with texts and bounds that a driver could change on the way.
enum Filling {
    static func key(_ index: Int) -> SecretKey { Samples.key("secret \(index % 97)") }
    static func token(_ index: Int) -> String { "token \(index)" }

    private static let texts = [
        "abcdef", "ABCDEF", "abcdef ", " abcdef", "", "'; --", "🦊🦊", "\u{E9}", "e\u{301}", "ab\\0cdef", "%",
        "\t",
    ]

    /// Fills a new database; returns the number of rows in each table.
    static func fill(_ place: TransferPlace, devices: Int, receipts: Int = 300) async throws -> [Int] {
        let storage = try await place.open()
        let long = String(repeating: "🦊", count: 63)
        for index in 0..<devices {
            let awkward = index < texts.count ? texts[index] : token(index)
            let registration = Registration(
                newID: Samples.id(), token: index == 20 ? String(repeating: "f", count: 400) : awkward,
                bundleID: index % 5 == 0 ? texts[index % texts.count] : "com.example.app",
                environment: index.isMultiple(of: 3) ? .sandbox : .production,
                at: Samples.time + Int64(index / 10),
                details: index.isMultiple(of: 2)
                    ? .none
                    : DeviceDetails(
                        deviceName: texts[index % texts.count], osVersion: "26.\(index)",
                        sealedVersions: "1", installationID: "\(index) " + texts[index % texts.count]))
            _ = try await storage.register(registration, under: key(index), deviceLimit: 100_000)
        }
        let deliveries = (0..<devices).map { index in
            Delivery(
                id: Samples.id().text, secretHash: key(index).primary, eventType: "complete",
                sessionID: index == 3 ? long : texts[index % texts.count],
                status: index.isMultiple(of: 2) ? .sent : .failed,
                error: index.isMultiple(of: 2) ? nil : texts[index % texts.count],
                createdAt: Samples.time + Int64(index % 7),
                eventID: index.isMultiple(of: 3) ? nil : "event \(index)" + texts[index % texts.count])
        }
        try await storage.append(deliveries)
        let all = (0..<3).map { Samples.device(key($0), "token \($0)") }
        try await storage.append([Samples.delivery(key(0), at: Samples.time, toAll: all)])
        for index in 0..<receipts {
            let claim = EventClaim(
                id: Samples.id(), key: key(index), eventID: "event \(index)" + texts[index % texts.count],
                content: Digest256(of: [UInt8(index & 255)]),
                actions: index.isMultiple(of: 3) ? ["once", "\(index)"] : [], at: Samples.time,
                leaseUntil: Samples.time + 1)
            _ = try await storage.claim(claim)
            guard index.isMultiple(of: 2) else { continue }
            let answer =
                index == 4
                ? (0..<65_536).map { UInt8(truncatingIfNeeded: $0) } : Array(repeating: 0, count: index)
            _ = try await storage.complete(claim, answer: answer)
        }
        let pushes = try await enqueue(storage)
        for index in 0..<texts.count {
            let blocked = BlockedSecret(
                secretHash: key(index).primary, createdAt: Samples.time + Int64(index),
                note: index == 0 ? nil : texts[index])
            _ = try await storage.block(blocked, limit: 100)
        }
        let items = try await addItems(storage)
        let agents = min(devices, texts.count)
        try await storage.note(
            (0..<agents).map { index in
                (AgentUse(usedAt: Samples.time + Int64(index), client: texts[index]), key(index))
            })
        for index in 0..<agents {
            let token = PushToken(
                id: Samples.id().text, secretHash: key(index).primary, kind: .activity, token: "aa\(index)",
                sessionID: texts[index], deviceID: index.isMultiple(of: 2) ? nil : "device",
                bundleID: "com.example.app", environment: .sandbox, createdAt: Samples.time,
                updatedAt: Samples.time, expiresAt: Samples.time + 1_000_000)
            _ = try await storage.save(token, under: key(index))
        }
        let schedules = try await addSchedules(storage, of: agents)
        let replies = try await reply(storage, events: receipts)
        for text in texts.prefix(3) {
            _ = try await storage.relayKey("key " + text, orStoring: text, at: Samples.time)
        }
        for index in 0..<agents {
            let token = Samples.accessToken(
                key(index), name: texts[index], expiresAt: index.isMultiple(of: 2) ? nil : Samples.time + 1)
            _ = try await storage.create(token, under: key(index), limit: 9)
        }
        await storage.close()
        return [
            devices, devices + 1, receipts, pushes, texts.count, items, agents, schedules, replies, agents,
            3, 2 * agents,
        ]
    }

    /// Adds named and unnamed schedules for several secrets, one of them leased.
    private static func addSchedules(_ storage: any Storage, of secrets: Int) async throws -> Int {
        for index in 0..<secrets {
            let schedules = [
                Samples.schedule(key(index), name: texts[index]),
                Samples.schedule(key(index), .repeat, rule: #"{"seconds":60}"#, content: texts[index]),
            ]
            for schedule in schedules {
                _ = try await storage.create(schedule, under: key(index), limit: 9)
            }
        }
        _ = try await storage.claimSchedules(
            dueAt: Samples.time, lease: Samples.lease(), limit: 1, from: 0)
        return 2 * secrets
    }

    /// Acknowledges some of the events that have receipts, replies to some of those, and reports a few results.
    private static func reply(_ storage: any Storage, events: Int) async throws -> Int {
        let count = min(events, 24)
        for index in 0..<count {
            let event = EventName("event \(index)" + texts[index % texts.count], of: key(index))
            let reply: EventReply? =
                switch index % 3 {
                case 0: nil
                case 1: EventReply(action: "once", text: texts[index % texts.count])
                default: EventReply(sealed: "AQ.\(index)")
                }
            _ = try await storage.acknowledge(event, reply: reply, at: Samples.time + Int64(index))
            guard !index.isMultiple(of: 4) else { continue }
            let result =
                index.isMultiple(of: 3)
                ? ReplyResult(sealed: "AQ.\(index)") : ReplyResult(outcome: "refused", reason: "r\(index)")
            _ = try await storage.report(result, of: event, at: Samples.time + Int64(index))
        }
        return count
    }

    /// Adds two items for each secret, and marks some as read.
    private static func addItems(_ storage: any Storage) async throws -> Int {
        var items: [(item: HistoryItem, key: SecretKey)] = []
        for index in 0..<194 {
            let text = texts[index % texts.count]
            items.append(
                Samples.item(
                    key(index), eventID: index.isMultiple(of: 3) ? nil : "event \(index)" + text,
                    sessionID: text, at: Samples.time + Int64(index / 3),
                    title: index.isMultiple(of: 5) ? nil : text,
                    body: index == 7 ? String(repeating: "🦊", count: 1_024) : nil,
                    sealed: index.isMultiple(of: 2) ? "AQ.\(index)" : nil))
        }
        let addition = try await storage.add(items, counting: [])
        for index in 0..<10 { _ = try await storage.markRead(nil, of: key(index), at: Samples.time + 9) }
        return addition.stored
    }

    private static func enqueue(_ storage: any Storage) async throws -> Int {
        var pushes: [PendingPush] = []
        var devices: [Device] = []
        for index in 0..<8 { devices += try await storage.devices(of: key(index)).prefix(10) }
        for device in devices {
            pushes.append(
                PendingPush(
                    id: Samples.id().text, secretHash: device.secretHash, deviceID: device.id,
                    eventType: "complete", sessionID: "🦊", payload: [0, 1, 255], pushType: "alert",
                    priority: 10,
                    collapseID: pushes.count.isMultiple(of: 2) ? nil : "collapse ", attempts: 2,
                    dueAt: Samples.time, createdAt: Samples.time, expiresAt: Samples.time + 1_000,
                    eventID: pushes.count.isMultiple(of: 3) ? nil : "event 🦊 ",
                    kind: "complete"))
        }
        _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 1_000)
        return pushes.count
    }

    /// Compares both databases through the storage, as a relay would read them.
    static func expectSame(_ one: TransferPlace, _ other: TransferPlace) async throws {
        let left = try await one.open()
        let right = try await other.open()
        for index in 0..<97 {
            let key = key(index)
            let devices = try await left.devices(of: key)
            #expect(try await right.devices(of: key) == devices)
            let log = try await left.deliveries(of: key, before: nil, limit: 10_000)
            #expect(try await right.deliveries(of: key, before: nil, limit: 10_000) == log)
            let history = try await left.history(of: key, before: nil, limit: 10_000)
            #expect(try await right.history(of: key, before: nil, limit: 10_000) == history)
            for kind in ScheduleKind.allCases {
                let schedules = try await left.schedules(of: key, kind: kind, limit: 99)
                #expect(try await right.schedules(of: key, kind: kind, limit: 99) == schedules)
            }
            let names = Set((0..<24).map { EventName("event \($0)" + texts[$0 % texts.count], of: key) })
            let replies = try await left.acknowledgements(of: names, at: Samples.time)
            #expect(try await right.acknowledgements(of: names, at: Samples.time) == replies)
            let tokens = try await left.tokens(.activity, of: key, at: Samples.time)
            #expect(try await right.tokens(.activity, of: key, at: Samples.time) == tokens)
            let accessTokens = try await left.accessTokens(of: key, limit: 9)
            #expect(try await right.accessTokens(of: key, limit: 9) == accessTokens)
            for token in accessTokens {
                #expect(try await right.accessToken(token.digest) == token)
            }
            let use = try await left.agentUse(of: key)
            #expect(try await right.agentUse(of: key) == use)
        }
        await left.close()
        await right.close()
    }
}
