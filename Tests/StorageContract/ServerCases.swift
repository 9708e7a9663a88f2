import Storage
import Testing

/// A requirement for every database server driver when the server or the network fails.
package struct ServerCase: Sendable, CustomTestStringConvertible {
    private let sentence: String
    private let body: @Sendable (any ServerDatabase, CuttingProxy) async throws -> Void

    init(
        _ sentence: String,
        _ body: @escaping @Sendable (any ServerDatabase, CuttingProxy) async throws -> Void
    ) {
        self.sentence = sentence
        self.body = body
    }

    /// Runs the case on a database that has never been opened, and removes the database.
    package func run(on database: some ServerDatabase) async throws {
        let proxy: CuttingProxy
        do {
            proxy = try CuttingProxy(before: database.port)
        } catch {
            await database.destroy()
            throw error
        }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(database, proxy))
        } catch {
            outcome = .failure(error)
        }
        proxy.end()
        await database.destroy()
        try outcome.get()
    }

    /// The sentence that describes the case.
    package var testDescription: String { sentence }

    /// All cases.
    package static let all: [ServerCase] = calls + outages + locks + unconfirmed + idleness + crowds
}

/// How long a call may take on a busy machine when it should fail immediately or within its deadline.
private let patience: Duration = .seconds(30)

extension ServerCase {
    /// Few connections and short waits.
    private static func options(_ callTimeout: Duration = .seconds(5)) -> ServerOptions {
        var options = ServerOptions()
        options.connectionsMax = 3
        options.callTimeout = callTimeout
        return options
    }

    /// Few connections, and long waits where no time is tested.
    private static var patient: ServerOptions {
        var options = ServerOptions.patient
        options.connectionsMax = 3
        return options
    }

    fileprivate static let outages: [ServerCase] = [
        ServerCase("a silent server delays a call until its deadline and no longer") {
            database, proxy async throws in
            let storage = try await database.open(options(.seconds(2)), through: proxy.port)
            try await untilAnswered(storage)
            proxy.hold()
            let began = ContinuousClock.now
            let errors = try await concurrently(8) { _ in await failure { try await storage.ping() } }
            #expect(errors.allSatisfy { $0.isOutage }, "\(errors)")
            #expect(ContinuousClock.now - began < patience)
            proxy.pass()
            try await untilAnswered(storage)
            await storage.close()
        },

        ServerCase("a ping reads the server's clock") { database, proxy async throws in
            let storage = try await database.open(patient, through: proxy.port)
            let reading = try #require(try await storage.ping { 42 })
            #expect(reading.local == 42 && reading.server > 1_700_000_000_000)
            await storage.close()
        },

        ServerCase("calls fail at once while a server is down, and work again without a restart") {
            database, proxy async throws in
            let storage = try await database.open(options(), through: proxy.port)
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            proxy.refuse()
            let began = ContinuousClock.now
            for _ in 0..<50 {
                let error = await failure { try await storage.register(Samples.registration("bb"), key) }
                #expect(error.isOutage, "\(String(describing: error))")
            }
            // Fifty calls take less than five calls' deadlines: they don't wait for a connection that can't come.
            #expect(ContinuousClock.now - began < .seconds(25))
            proxy.pass()
            try await untilAnswered(storage)
            #expect(try await storage.tokens(of: key) == ["aa"])
            #expect(storage.connectionCount <= 3)
            #expect(try await untilSessions(atMost: 3, database))
            await storage.close()
            #expect(try await untilSessions(atMost: 0, database))
        },

        ServerCase("opening a missing server fails quickly") {
            database, proxy async throws in
            proxy.refuse()
            let began = ContinuousClock.now
            let error = await failure { _ = try await database.openOnce(options(), through: proxy.port) }
            #expect(error.isOutage)
            #expect(ContinuousClock.now - began < patience)
        },

        ServerCase("sessions that the server ends under load lose no confirmed change") {
            database, proxy async throws in
            let storage = try await database.open(options(), through: proxy.port)
            let key = Samples.key("secret")
            let killer = Task {
                while !Task.isCancelled {
                    try database.endSessions()
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            let answered = try await concurrently(8) { lane -> [String] in
                var answered: [String] = []
                for index in 0..<40 {
                    let token = "token \(lane) \(index)"
                    do throws(StorageError) {
                        // One attempt more than the storage makes on its own, as if a client of the relay retried.
                        try await storage.register(Samples.registration(token), key)
                        answered.append(token)
                    } catch {
                        #expect(error.isTransient, "\(error)")
                    }
                }
                return answered
            }
            killer.cancel()
            _ = await killer.result
            try await untilAnswered(storage)
            let kept = Set(try await storage.tokens(of: key))
            #expect(kept.isSuperset(of: answered.flatMap(\.self)))
            #expect(storage.connectionCount <= 3)
            #expect(try await untilSessions(atMost: 3, database))
            await storage.close()
            #expect(try await untilSessions(atMost: 0, database))
        },

        ServerCase("a locked table delays a call until its deadline, and later calls succeed") {
            database, _ async throws in
            let storage = try await database.open(options(.seconds(5)))
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let unlock = try database.lock("device_registration")
            let began = ContinuousClock.now
            let error = await failure { _ = try await storage.devices(of: key) }
            guard case .timeout = error else {
                Issue.record("a held table gave \(String(describing: error))")
                try unlock()
                return await storage.close()
            }
            #expect(ContinuousClock.now - began < patience)
            try unlock()
            #expect(try await storage.tokens(of: key) == ["aa"])
            await storage.close()
        },

        ServerCase("there are never more connections than allowed, and every call is served") {
            database, _ async throws in
            let storage = try await database.open(patient)
            let sessions = try await concurrently(100) { index in
                try await storage.register(Samples.registration("aa"), Samples.key("secret \(index)"))
                return index.isMultiple(of: 25) ? try database.countSessions() : 0
            }
            // The test's own queries also use connections.
            #expect(sessions.allSatisfy { $0 <= 3 + 4 })
            #expect(storage.connectionCount <= 3)
            await storage.close()
            #expect(try await untilSessions(atMost: 0, database))
        },

        ServerCase("many ends are written within one call's deadline on a distant server") {
            database, proxy async throws in
            let near = try await database.open(patient)
            let device = try await near.registered("aa", Samples.key("secret"))
            let pushes = (0..<300).map { _ in Samples.pending(device) }
            let lease = Samples.lease()
            _ = try await near.enqueue(pushes, lease: lease, limitPerSecret: 1_000)
            let far = try await database.open(options(.seconds(10)), through: proxy.port)
            // A request for each of the ends would take longer than the call may.
            proxy.delay(milliseconds: 50)
            let settlements = pushes.enumerated().map { index, push in
                guard !index.isMultiple(of: 3) else { return Samples.over(push, lease.owner) }
                return Settlement(
                    id: push.id, secretHash: push.secretHash, owner: lease.owner,
                    end: .again(dueAt: Samples.time + Int64(index), attempts: index))
            }
            #expect(try await far.settle(settlements) == settlements.map { _ in true })
            proxy.delay(milliseconds: 0)
            await far.close()
            #expect(try await database.count(of: "delivery_log") == 100)
            let again = try await near.claimed(at: Samples.time + 1_000)
            let expected = pushes.indices.filter { !$0.isMultiple(of: 3) }
            #expect(again.map(\.push.id) == expected.map { pushes[$0].id })
            #expect(again.map(\.push.attempts) == expected)
            #expect(again.map(\.push.dueAt) == expected.map { Samples.time + Int64($0) })
            await near.close()
        },

        ServerCase("closing while the server is silent ends at the calls' deadline") {
            database, proxy async throws in
            let storage = try await database.open(options(.seconds(2)), through: proxy.port)
            try await untilAnswered(storage)
            proxy.hold()
            async let calls = concurrently(6) { _ in await failure { try await storage.ping() } }
            let began = ContinuousClock.now
            await storage.close()
            #expect(ContinuousClock.now - began < patience)
            #expect(try await calls.allSatisfy { $0.isOutage || $0 == .closed })
            proxy.pass()
        },
    ]

    /// The error that a call throws.
    static func failure(_ call: () async throws -> Void) async -> StorageError? {
        do {
            try await call()
            return nil
        } catch {
            return error as? StorageError
        }
    }

    /// Retries until the storage responds again, for at most half a minute.
    static func untilAnswered(_ storage: any PooledStorage) async throws {
        try await untilAnswered { try await storage.ping() }
    }

    /// Repeats a call until it succeeds, for at most half a minute.
    static func untilAnswered(_ call: () async throws -> Void) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while let error = await failure(call) {
            guard ContinuousClock.now < deadline else { throw error }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Whether the server soon has at most this many connections to the database: it may notice late that some ended.
    private static func untilSessions(
        atMost count: Int, _ database: any ServerDatabase
    ) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        while try database.countSessions() > count {
            guard ContinuousClock.now < deadline else { return false }
            try await Task.sleep(for: .milliseconds(20))
        }
        return true
    }
}

extension StorageError? {
    /// Whether the error is one after which the call may be tried again.
    fileprivate var isOutage: Bool {
        self?.isTransient == true
    }
}
