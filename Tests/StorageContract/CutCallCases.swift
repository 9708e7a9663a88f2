import Storage
import Testing

/// A call that is made while its connection is cut at some point, with the expected results.
private struct CutCall: Sendable {
    let name: String
    /// Stores what the call needs, under the key.
    var prepare: @Sendable (any Storage, SecretKey) async throws -> Void = { _, _ in }
    /// Makes the call and checks its result.
    let make: @Sendable (any Storage, SecretKey) async throws -> Void
    /// Checks what is stored afterwards.
    var check: @Sendable (any Storage, SecretKey) async throws -> Void = { _, _ in }
}

extension ServerCase {
    static let calls: [ServerCase] = CutCall.all.map { call in
        ServerCase("\(call.name) has the same result wherever its connection is cut") {
            database, proxy async throws in
            var options = ServerOptions.patient
            options.connectionsMax = 1
            let storage = try await database.open(options, through: proxy.port)
            var cuts = 0
            for direction in CuttingProxy.Direction.allCases {
                for chunks in 0..<64 {
                    let key = Samples.key("\(direction) \(chunks)")
                    try await call.prepare(storage, key)
                    proxy.cut(direction, after: chunks)
                    do {
                        try await call.make(storage, key)
                    } catch {
                        Issue.record(error, "cut \(direction.rawValue) after \(chunks)")
                    }
                    let wasCut = proxy.wasCut()
                    try await call.check(storage, key)
                    guard wasCut else { break }
                    cuts += 1
                }
            }
            // A call has at least a request and a response.
            #expect(cuts >= 2)
            await storage.close()
        }
    }
}

extension CutCall {
    static let all: [CutCall] = devices + others + queue

    private static let devices: [CutCall] = [
        CutCall(name: "registering a device") { storage, key async throws in
            #expect(try await storage.register(Samples.registration("aa"), key) == .created)
        } check: { storage, key async throws in
            #expect(try await storage.tokens(of: key) == ["aa"])
        },
        CutCall(name: "registering a device again") { storage, key async throws in
            try await storage.register(Samples.registration("aa"), key)
        } make: { storage, key async throws in
            let again = Samples.registration("aa", bundleID: "changed", at: Samples.time + 1)
            #expect(try await storage.register(again, key) == .updated)
        } check: { storage, key async throws in
            #expect(try await storage.devices(of: key).map(\.bundleID) == ["changed"])
        },
        CutCall(name: "registering the last device that fits") { storage, key async throws in
            try await storage.register(Samples.registration("aa"), key)
        } make: { storage, key async throws in
            let result = try await storage.register(Samples.registration("bb"), under: key, deviceLimit: 2)
            #expect(result == .created)
        } check: { storage, key async throws in
            #expect(try await storage.tokens(of: key).sorted() == ["aa", "bb"])
        },
        CutCall(name: "unregistering a device") { storage, key async throws in
            try await storage.register(Samples.registration("aa"), key)
        } make: { storage, key async throws in
            // If the first attempt was committed, the second finds nothing.
            _ = try await storage.unregister(token: "aa", under: key)
        } check: { storage, key async throws in
            #expect(try await storage.tokens(of: key) == [])
        },
        CutCall(name: "looking devices up") { storage, key async throws in
            try await storage.register(Samples.registration("aa"), key)
        } make: { storage, key async throws in
            #expect(try await storage.tokens(of: key) == ["aa"])
        },
        CutCall(name: "storing an environment") { storage, key async throws in
            try await storage.register(Samples.registration("aa"), key)
        } make: { storage, key async throws in
            let device = try #require(try await storage.devices(of: key).first)
            #expect(try await storage.setEnvironment(.sandbox, of: device))
        } check: { storage, key async throws in
            #expect(try await storage.devices(of: key).map(\.environment) == [.sandbox])
        },
        CutCall(name: "removing a device") { storage, key async throws in
            try await storage.register(Samples.registration("aa"), key)
        } make: { storage, key async throws in
            let device = try #require(try await storage.devices(of: key).first)
            _ = try await storage.remove(device, ifNotUpdatedAfter: .max)
        } check: { storage, key async throws in
            #expect(try await storage.tokens(of: key) == [])
        },
    ]

    private static let others: [CutCall] = [
        CutCall(name: "appending to the log") { storage, key async throws in
            try await storage.append((0..<7).map { Samples.delivery(key, at: Samples.time + Int64($0)) })
        } check: { storage, key async throws in
            #expect(try await storage.deliveries(of: key, before: nil, limit: 99).count == 7)
        },
        CutCall(name: "reading the log") { storage, key async throws in
            try await storage.append([Samples.delivery(key)])
        } make: { storage, key async throws in
            #expect(try await storage.deliveries(of: key, before: nil, limit: 99).count == 1)
        },
        CutCall(name: "claiming an event") { storage, key async throws in
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .claimed)
        } check: { storage, key async throws in
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .inProgress)
        },
        CutCall(name: "completing an event") { storage, key async throws in
            let claim = Samples.claim("event", under: key)
            #expect(try await storage.claim(claim) == .claimed)
            #expect(try await storage.complete(claim, answer: [1]))
        } check: { storage, key async throws in
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .answered([1]))
        },
        CutCall(name: "releasing an event") { storage, key async throws in
            let claim = Samples.claim("event", under: key)
            #expect(try await storage.claim(claim) == .claimed)
            try await storage.release(claim)
        } check: { storage, key async throws in
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .claimed)
        },
        CutCall(name: "revoking a secret") { storage, key async throws in
            try await storage.register(Samples.registration("aa"), key)
        } make: { storage, key async throws in
            // If the first attempt was committed, the second finds nothing.
            _ = try await storage.revoke(key, limit: 9)
        } check: { storage, key async throws in
            #expect(try await storage.holdings(of: key).isEmpty)
        },
        CutCall(name: "moving a secret under another hash") { storage, key async throws in
            try await storage.register(Samples.registration("aa"), key)
        } make: { storage, key async throws in
            let next = SecretKey(primary: SecretHash(Digest256(of: [1])), legacy: [key.primary])
            _ = try await storage.rehash(next)
            #expect(try await storage.tokens(of: SecretKey(primary: next.primary)) == ["aa"])
            _ = try await storage.revoke(next, limit: 9)
        },
        CutCall(name: "a ping") { storage, _ in try await storage.ping() },
    ]

    private static let queue: [CutCall] = [
        CutCall(name: "unregistering a device that pushes wait for") { storage, key async throws in
            let device = try await storage.registered("aa", key)
            let pushes = (0..<3).map { _ in Samples.pending(device) }
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
        } make: { storage, key async throws in
            _ = try await storage.unregister(token: "aa", under: key)
        } check: { storage, key async throws in
            let log = try await storage.deliveries(of: key, before: nil, limit: 9)
            #expect(log.map(\.error) == Array(repeating: Delivery.deviceRemoved, count: 3))
            #expect(try await storage.countPushes(limit: 9) == 0)
        },
        CutCall(name: "storing pushes that wait") { storage, key async throws in
            try await storage.register(Samples.registration("aa"), key)
        } make: { storage, key async throws in
            let device = try #require(try await storage.devices(of: key).first)
            let pushes = (0..<3).map { _ in Samples.pending(device) }
            let results = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 3)
            #expect(results == [.queued, .queued, .queued])
        } check: { storage, _ async throws in
            #expect(try await storage.claimed(Samples.lease()).count == 3)
        },
        CutCall(name: "claiming pushes") { storage, key async throws in
            let device = try await storage.registered("aa", key)
            let pushes = (0..<3).map { _ in Samples.pending(device) }
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
        } make: { storage, key async throws in
            let claimed = try await storage.claimed(Samples.lease())
            #expect(claimed.map(\.push.secretHash) == [key.primary, key.primary, key.primary])
            #expect(claimed.allSatisfy { $0.device?.token == "aa" })
        },
        CutCall(name: "settling pushes") { storage, key async throws in
            let device = try await storage.registered("aa", key)
            let pushes = [Samples.pending(device), Samples.pending(device)]
            let lease = Samples.lease()
            _ = try await storage.enqueue(pushes, lease: lease, limitPerSecret: 9)
            let ends = [Samples.over(pushes[0], lease.owner), Samples.again(pushes[1], lease.owner)]
            #expect(try await storage.settle(ends) == [true, true])
        } check: { storage, key async throws in
            #expect(try await storage.deliveries(of: key, before: nil, limit: 9).count == 1)
        },
    ]
}
