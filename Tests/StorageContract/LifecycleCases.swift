import Instruments
import Storage
import Testing

extension ContractCase {
    static let lifecycle: [ContractCase] = [
        ContractCase(open: "an open database answers a ping and has the current schema") {
            storage async throws in
            try await storage.ping()
            #expect(try await storage.schemaVersion() == SchemaStep.current)
        },

        ContractCase(open: "its load has the durations of changes, and nothing waits when all are done") {
            storage async throws in
            let before = storage.load.durations
            for token in ["aa", "bb", "cc"] {
                try await storage.register(Samples.registration(token), Samples.key("secret"))
            }
            // A call's caller resumes shortly before the call's thread or connection is counted as free.
            let deadline = ContinuousClock.now + .seconds(30)
            var after = storage.load
            while after.waitingCalls + (after.connections?.busy ?? 0) > 0, ContinuousClock.now < deadline {
                await Task.yield()
                after = storage.load
            }
            #expect(after.durations.count >= before.count + 3 && after.durations.sum > before.sum)
            #expect(after.waitingCalls == 0)
            if let connections = after.connections {
                #expect(connections.opened >= 1 && connections.failed == 0 && connections.lost == 0)
                #expect(connections.idle >= 1 && connections.busy + connections.opening == 0)
            }
        },

        ContractCase("all rows are there after closing and opening") { database async throws in
            let key = Samples.key("secret")
            let claim = Samples.claim("event", under: key)
            let row = Samples.delivery(key)
            let storage = try await database.open()
            try await storage.register(Samples.registration("aa"), key)
            try await storage.append([row])
            #expect(try await storage.claim(claim) == .claimed)
            #expect(try await storage.complete(claim, answer: [1]))
            let devices = try await storage.devices(of: key)
            await storage.close()

            let again = try await database.open()
            #expect(try await again.devices(of: key) == devices)
            #expect(try await again.deliveries(of: key, before: nil, limit: 9) == [row])
            #expect(try await again.claim(Samples.claim("event", under: key)) == .answered([1]))
            await again.close()
        },

        ContractCase("every call after closing fails as closed, and closing twice is allowed") {
            database async throws in
            let storage = try await database.open()
            try await storage.register(Samples.registration("aa"), Samples.key("secret"))
            async let first: Void = storage.close()
            async let second: Void = storage.close()
            _ = await (first, second)
            await storage.close()
            for (name, call) in everyCall {
                let error = await #expect(throws: StorageError.self, "\(name)") { try await call(storage) }
                #expect(error == .closed, "\(name)")
            }
        },

        ContractCase("changes confirmed before or during closing are there after opening") {
            database async throws in
            let storage = try await database.open()
            let key = Samples.key("secret")
            let registrations = Task {
                try await concurrently(200) { index -> Int? in
                    do throws(StorageError) {
                        try await storage.register(Samples.registration("token \(index)"), key)
                        return index
                    } catch {
                        #expect(error == .closed)
                        return nil
                    }
                }
            }
            await storage.close()
            let answered = try await registrations.value.compactMap(\.self)
            let again = try await database.open()
            let kept = Set(try await again.tokens(of: key))
            #expect(kept == Set(answered.map { "token \($0)" }))
            await again.close()
        },

        ContractCase("a second writer either works alongside the first or is refused") {
            database async throws in
            let first = try await database.open()
            let key = Samples.key("secret")
            if database.allowsSeveralWriters {
                let second = try await database.open()
                try await second.register(Samples.registration("aa"), key)
                #expect(try await first.tokens(of: key) == ["aa"])
                await second.close()
            } else {
                let error = await #expect(throws: StorageError.self) { _ = try await database.open() }
                guard case .inUse = error else {
                    Issue.record("a second writer got \(String(describing: error))")
                    return await first.close()
                }
            }
            // A second writer that was refused or has closed leaves the first one intact.
            try await first.register(Samples.registration("bb"), key)
            #expect(try await first.tokens(of: key).contains("bb"))
            await first.close()
            await (try await database.open()).close()
        },

        ContractCase("a reader sees what a writer commits and can't change anything") {
            database async throws in
            let key = Samples.key("secret")
            let writer = try await database.open()
            try await writer.register(Samples.registration("aa"), key)
            let reader = try await database.openReadOnly()
            #expect(try await reader.tokens(of: key) == ["aa"])
            try await writer.register(Samples.registration("bb", at: Samples.time + 1), key)
            #expect(try await reader.tokens(of: key) == ["aa", "bb"])
            for (name, call) in everyChange {
                let error = await #expect(throws: StorageError.self, "\(name)") { try await call(reader) }
                guard case .readOnly = error else {
                    Issue.record("\(name) got \(String(describing: error))")
                    continue
                }
            }
            #expect(try await writer.devices(of: key) == reader.devices(of: key))
            await reader.close()
            await writer.close()
        },

        ContractCase("a full database refuses changes, keeps its rows and still answers queries") {
            database async throws in
            guard let storage = try await database.openAlmostFull() else { return }
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            var appended = 0
            var failure: StorageError?
            while failure == nil, appended < 10_000 {
                do throws(StorageError) {
                    try await storage.append(
                        (0..<10).map { _ in
                            Samples.delivery(key, error: String(repeating: "e", count: 200))
                        })
                    appended += 10
                } catch {
                    failure = error
                }
            }
            guard case .full = failure else {
                Issue.record("a full database gave \(String(describing: failure))")
                return await storage.close()
            }
            #expect(try await storage.deliveries(of: key, before: nil, limit: 10_000).count == appended)
            #expect(try await storage.tokens(of: key) == ["aa"])
            // Freed space can be used again.
            #expect(try await storage.prune(.deliveries, before: .max, limit: 100) == 100)
            try await storage.append([Samples.delivery(key)])
            await storage.close()
        },
    ]

    private typealias Call = @Sendable (any Storage) async throws -> Void

    private static let device = Device(
        id: Samples.id().text, secretHash: Samples.key("secret").primary, token: "aa", bundleID: "b",
        environment: .sandbox, createdAt: 0, updatedAt: .max)

    private static let event = EventName("event", of: Samples.key("secret"))

    private static let everyChange: [(String, Call)] = [
        ("register", { try await $0.register(Samples.registration("cc"), Samples.key("secret")) }),
        ("unregister", { _ = try await $0.unregister(token: "aa", under: Samples.key("secret")) }),
        ("setPreferences", { _ = try await $0.setPreferences("{}", of: device) }),
        ("setEnvironment", { _ = try await $0.setEnvironment(.sandbox, of: device) }),
        ("remove", { _ = try await $0.remove(device, ifNotUpdatedAfter: .max) }),
        ("append", { try await $0.append([Samples.delivery(Samples.key("secret"))]) }),
        (
            "create",
            {
                let key = Samples.key("secret")
                _ = try await $0.create(Samples.schedule(key), under: key, limit: 9)
            }
        ),
        (
            "cancel",
            { _ = try await $0.cancel(.id(Samples.id()), kind: .schedule, of: Samples.key("secret")) }
        ),
        (
            "claimSchedules",
            { _ = try await $0.claimSchedules(dueAt: .max, lease: Samples.lease(), limit: 1, from: 0) }
        ),
        ("prune", { _ = try await $0.prune(.deliveries, from: .min, before: .max, limit: 1) }),
        ("claim", { _ = try await $0.claim(Samples.claim("event", under: Samples.key("secret"))) }),
        (
            "complete",
            { _ = try await $0.complete(Samples.claim("event", under: Samples.key("secret")), answer: []) }
        ),
        ("release", { try await $0.release(Samples.claim("event", under: Samples.key("secret"))) }),
        ("tryWriting", { try await $0.tryWriting(id: Samples.id(), at: Samples.time) }),
        ("enqueue", { _ = try await $0.enqueue([Samples.pending(device)], lease: nil, limitPerSecret: 9) }),
        (
            "claimPushes",
            { _ = try await $0.claimPushes(dueAt: 0, lease: Samples.lease(), limit: 1, scope: .oldest) }
        ),
        (
            "settle",
            { _ = try await $0.settle([Samples.again(Samples.pending(device), Samples.lease().owner)]) }
        ),
        ("block", { _ = try await $0.block(Samples.blocked(Samples.key("secret")), limit: 9) }),
        (
            "add",
            { _ = try await $0.add([Samples.item(Samples.key("secret"))], counting: []) }
        ),
        ("markRead", { _ = try await $0.markRead(nil, of: Samples.key("secret"), at: 0) }),
        ("pruneDevices", { _ = try await $0.pruneDevices(before: .max, after: nil, limit: 1, at: 0) }),
        (
            "acknowledge",
            { _ = try await $0.acknowledge(event, reply: nil, at: Samples.time) }
        ),
        ("unblock", { _ = try await $0.unblock(Samples.key("secret").primary) }),
    ]

    private static var everyCall: [(String, Call)] { everyChange + everyRead }

    private static let everyRead: [(String, Call)] = [
        ("preferences", { _ = try await $0.preferences(after: nil, limit: 1) }),
        ("devices", { _ = try await $0.devices(of: Samples.key("secret")) }),
        ("deliveries", { _ = try await $0.deliveries(of: Samples.key("secret"), before: nil, limit: 1) }),
        ("lastDeliveries", { _ = try await $0.lastDeliveries(to: [device], under: Samples.key("secret")) }),
        ("nextPushDue", { _ = try await $0.nextPushDue() }),
        ("countDevices", { _ = try await $0.countDevices(limit: 1) }),
        ("countPushes", { _ = try await $0.countPushes(limit: 1) }),
        ("measurePushes", { _ = try await $0.measurePushes(limit: 1) }),
        ("blockedSecrets", { _ = try await $0.blockedSecrets(limit: 1) }),
        ("tenants", { _ = try await $0.tenants(after: "", before: "g", limit: 1) }),
        ("waitingPushes", { _ = try await $0.waitingPushes(of: nil, after: nil, limit: 1) }),
        ("history", { _ = try await $0.history(of: Samples.key("secret"), before: nil, limit: 1) }),
        ("acknowledgements", { _ = try await $0.acknowledgements(of: [event], at: 0) }),
        ("state", { _ = try await $0.state(of: event, at: 0) }),
        ("ping", { try await $0.ping() }),
        ("schemaVersion", { _ = try await $0.schemaVersion() }),
    ]
}
