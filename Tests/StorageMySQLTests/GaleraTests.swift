import OwnThread
import Storage
import StorageContract
import StorageMySQL
import Testing

@Suite(
    "A Galera cluster",
    .enabled(
        if: GaleraCluster.url != nil,
        "no cluster: Tests/Support/databases run --servers galera swift test --filter GaleraTests"),
    // A cluster that loses a node doesn't respond for a few seconds.
    .serialized, .timeLimit(.minutes(2)), .ownThread)
struct GaleraTests {
    /// How long registrations may fail after a node is lost, with Galera's own defaults: the cluster takes 5 s to
    /// decide that a silent node is gone, and a call has its own limit of 5 s.
    private static let outageMax: Duration = .seconds(15)

    /// The result of one registration.
    private struct Attempt: Sendable {
        let index: Int
        let isAnswered: Bool
        let at: ContinuousClock.Instant
    }

    @Test("the node in use is killed under load, and no registration that was answered is lost")
    func nodeLost() async throws {
        let name = "relay_\(UInt32.random(in: .min ... .max))"
        let administrator = try MySQLConnection.open(
            try GaleraCluster.location(database: "mysql"), options: .patient)
        administrator.deadline = .now + .seconds(30)
        try administrator.run("CREATE DATABASE \(name)")
        let location = try GaleraCluster.location(database: name)
        let storage = try await MySQLStorage.open(location)
        let killed = Guarded<ContinuousClock.Instant?>(nil)
        let isOver = Guarded(false)
        let workers = Task {
            try await withThrowingTaskGroup(of: [Attempt].self) { group in
                for worker in 0..<8 {
                    group.addTask { @concurrent in await Self.register(storage, worker, until: isOver) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }
        // Time for the load: a few seconds before and after the node is lost.
        try await Task.sleep(for: .seconds(2))
        try GaleraCluster.kill("galera1")
        killed.withLock { $0 = .now }
        try await Task.sleep(for: Self.outageMax + .seconds(3))
        isOver.withLock { $0 = true }
        let attempts = try await workers.value
        await storage.close()

        let lost = try #require(killed.withLock { $0 })
        let answered = attempts.filter(\.isAnswered)
        let late = attempts.filter { !$0.isAnswered && $0.at > lost + Self.outageMax }
        #expect(late.isEmpty, "\(late.count) registrations failed too late")
        #expect(answered.contains { $0.at < lost })
        #expect(answered.contains { $0.at > lost })

        let again = try await MySQLStorage.open(location, options: .patient)
        var missing = 0
        for attempt in answered {
            let tokens = try await again.devices(of: Self.key(attempt.index)).map(\.token)
            if !tokens.contains("token \(attempt.index)") { missing += 1 }
        }
        await again.close()
        #expect(missing == 0)
        let failed = attempts.count - answered.count
        let outage = attempts.filter { !$0.isAnswered }.map { $0.at - lost }.max() ?? .zero
        print("answered \(answered.count), failed \(failed), the last of them \(outage) after the loss")
    }

    @Test("a node is recognized behind one address, as a load balancer gives it")
    func oneAddress() throws {
        // The node to be killed is neither of the last two.
        let hosts = try GaleraCluster.location(database: "mysql").hosts.suffix(2)
        let name = "relay_\(UInt32.random(in: .min ... .max))"
        let nodes = try hosts.map { host in
            let connection = try MySQLConnection.open(
                try GaleraCluster.location(database: "mysql", host: host), options: .patient)
            connection.deadline = .now + .seconds(30)
            return connection
        }
        for node in nodes { #expect(try node.integer("SELECT @@session.wsrep_sync_wait") == 7) }
        try nodes[0].run("CREATE DATABASE \(name)")
        try nodes[0].run("CREATE TABLE \(name).t (v int PRIMARY KEY)")
        for value in 0..<500 {
            _ = try nodes[value % 2].execute("INSERT INTO \(name).t VALUES (?)", [.integer(Int64(value))])
            let found = try nodes[1 - value % 2].integer("SELECT count(*) FROM \(name).t")
            #expect(found == Int64(value + 1))
        }
        try nodes[0].run("DROP DATABASE \(name)")
    }

    @Test(
        "a server without TLS is refused where TLS is asked for", arguments: ["required", "verify-identity"])
    func withoutTLS(mode: String) throws {
        let location = try GaleraCluster.location(database: "mysql")
        let password = try #require(location.password.map { String(decoding: $0.bytes, as: UTF8.self) })
        // The nodes have no certificates; the node to be killed is not the last one.
        let port = try #require(location.hosts.last).port
        let url = "mysql://\(location.user):\(password)@127.0.0.1:\(port)/mysql"
        let plain = try MySQLConnection.open(try MySQLLocation(url: url), options: .patient)
        #expect(plain.isUsable)
        let failure = #expect(throws: SQLFailure.self) {
            let strict = try MySQLLocation(url: "\(url)?ssl-mode=\(mode)")
            _ = try MySQLConnection.open(strict, options: .patient)
        }
        guard case .refused = failure?.error else {
            Issue.record("got \(String(describing: failure))")
            return
        }
    }

    private static func key(_ index: Int) -> SecretKey { Samples.key("secret \(index % 500)") }

    private static func register(
        _ storage: MySQLStorage, _ worker: Int, until isOver: Guarded<Bool>
    ) async -> [Attempt] {
        var attempts: [Attempt] = []
        var index = worker
        while !isOver.withLock({ $0 }) {
            var isAnswered = false
            do throws(StorageError) {
                let registration = Samples.registration("token \(index)")
                _ = try await storage.register(registration, under: key(index), deviceLimit: 1_000_000)
                isAnswered = true
            } catch {
                // A relay's clients retry, but not immediately.
                try? await Task.sleep(for: .milliseconds(20))
            }
            attempts.append(Attempt(index: index, isAnswered: isAnswered, at: .now))
            index += 8
        }
        return attempts
    }
}
