import Foundation
import Storage
import Testing

extension ServerCase {
    /// Cases with connections that were idle.
    static let idleness: [ServerCase] = [
        ServerCase("no call fails because the network dropped idle connections") {
            database, proxy async throws in
            var options = ServerOptions.patient
            options.connectionsMax = 8
            // Every call checks its connection, as if it came after a pause.
            options.checkAfterIdle = .zero
            // Eight checks, one after another, would take longer than a call may.
            options.checkTimeout = .seconds(2)
            options.callTimeout = .seconds(10)
            let storage = try await database.open(options, through: proxy.port)
            try await fill(storage, proxy)
            proxy.forget()
            // One wait for all connections: a wait for each would take longer than a call may.
            try await storage.ping()
            try await fill(storage, proxy)
            proxy.forget()
            let errors = try await concurrently(30) { _ in await failure { try await storage.ping() } }
            #expect(errors.allSatisfy { $0 == nil }, "\(errors)")
            await storage.close()
        },

        ServerCase("the kernel probes idle connections before networks drop them") {
            database, proxy async throws in
            let storage = try await database.open(.patient, through: proxy.port)
            try await storage.ping()
            let deadline = ContinuousClock.now + .seconds(10)
            var timer = try keepAliveTimer(to: proxy.port)
            // Until the server's last bytes are acknowledged, a different timer is running.
            while timer == nil, ContinuousClock.now < deadline {
                await Task.yield()
                timer = try keepAliveTimer(to: proxy.port)
            }
            #expect(try #require(timer) <= .seconds(5))
            await storage.close()
        },
    ]

    /// Makes the pool open all its connections by delaying its server's responses for a while.
    private static func fill(_ storage: any PooledStorage, _ proxy: CuttingProxy) async throws {
        proxy.delay(milliseconds: 5)
        while storage.connectionCount < storage.load.connections?.max ?? 0 {
            _ = try await concurrently(30) { _ in try await storage.ping() }
        }
        proxy.delay(milliseconds: 0)
        while storage.load.connections?.opening ?? 0 > 0 { await Task.yield() }
    }

    /// When the kernel next probes a connection of this machine to a port of 127.0.0.1; nil if it won't (proc_net_tcp).
    private static func keepAliveTimer(to port: UInt16) throws -> Duration? {
        let remote = "0100007F:" + String(port, radix: 16, uppercase: true).leftPadded(to: 4)
        let file = try #require(FileHandle(forReadingAtPath: "/proc/net/tcp"))
        let table = try String(decoding: file.readToEnd() ?? Data(), as: UTF8.self)
        for line in table.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // Established, with the timer of probes: `02:` and hundredths of a second.
            guard fields.count > 5, fields[2] == remote, fields[3] == "01", fields[5].hasPrefix("02:"),
                let left = Int(fields[5].dropFirst(3), radix: 16)
            else { continue }
            return .milliseconds(left * 10)
        }
        return nil
    }

    /// Cases in which a server or an account allows few connections.
    static let crowds: [ServerCase] = [
        ServerCase("a pool works within the account's connection limit") {
            database, _ async throws in
            var options = ServerOptions.patient
            options.connectionsMax = 6
            let storage = try await database.open(options, connectionsMax: 2)
            let key = Samples.key("secret")
            let errors = try await concurrently(60) { index in
                await failure { try await storage.register(Samples.registration("token \(index)"), key) }
            }
            #expect(errors.allSatisfy { $0 == nil }, "\(errors)")
            // An attempt may outlast the calls.
            while storage.load.connections?.opening ?? 0 > 0 { await Task.yield() }
            #expect(storage.load.connections?.failed ?? 0 > 0)
            #expect(try await storage.tokens(of: key).count == 60)
            await storage.close()
        },

        ServerCase(
            "a call without a connection fails with the reason, and the next one gets the first free connection"
        ) {
            database, _ async throws in
            var options = ServerOptions.patient
            options.connectionsMax = 1
            let first = try await database.open(options, connectionsMax: 1)
            var hasty = options
            // The server must refuse a connection in half of this time.
            hasty.callTimeout = .seconds(10)
            let error = await failure { _ = try await database.open(hasty, connectionsMax: 1) }
            guard case .crowded = error else {
                Issue.record("got \(String(describing: error))")
                return await first.close()
            }
            #expect(error?.isTransient == true)
            let second = Task { try await database.open(options, connectionsMax: 1) }
            try await first.ping()
            await first.close()
            let opened = try await second.value
            try await opened.ping()
            await opened.close()
        },
    ]
}

extension String {
    fileprivate func leftPadded(to count: Int) -> String {
        String(repeating: "0", count: max(0, count - self.count)) + self
    }
}
