import Storage
import StorageContract
import Testing

@testable import StorageSQLite

@Suite("Device cache", .timeLimit(.minutes(2)))
struct DeviceCacheTests {
    private let key = Samples.key("secret")
    private let devices = [DeviceCacheTests.device("aa"), DeviceCacheTests.device("bb")]

    private static func device(_ token: String, of key: SecretKey = Samples.key("secret")) -> Device {
        Device(
            id: Samples.id().text, secretHash: key.primary, token: token, bundleID: "b",
            environment: .sandbox,
            createdAt: 0, updatedAt: 0)
    }

    @Test("what was looked up is known until its time is over")
    func lifetime() {
        var cache = DeviceCache(capacity: 100, lifetime: 10)
        #expect(cache.devices(of: key, at: 0) == nil)
        cache.keep(devices, of: key, since: cache.epoch, at: 0)
        #expect(cache.devices(of: key, at: 9) == devices)
        #expect(cache.devices(of: key, at: 10) == nil)
        #expect(cache.devices(of: Samples.key("other"), at: 0) == nil)
    }

    @Test("a secret without devices is known to have none")
    func none() {
        var cache = DeviceCache(capacity: 100, lifetime: 10)
        cache.keep([], of: key, since: cache.epoch, at: 0)
        #expect(cache.devices(of: key, at: 0) == [])
    }

    @Test("a look-up that a change overtook is not kept, whatever was changed")
    func overtaken() {
        var cache = DeviceCache(capacity: 100, lifetime: 10)
        let epoch = cache.epoch
        cache.forget(Samples.key("other"))
        cache.keep(devices, of: key, since: epoch, at: 0)
        #expect(cache.devices(of: key, at: 0) == nil)
    }

    @Test("a change is forgotten by the secret and by the hash of one row, the legacy one too")
    func changes() {
        let plain = SecretHasher().key(of: Secret("secret"))
        let other = Samples.key("other").primary
        let peppered = SecretKey(primary: other, legacy: [plain.primary])
        for change in [
            { $0.forget(peppered) }, { $0.forget(plain.primary) }, { $0.forget(other) },
        ] as [(inout DeviceCache) -> Void] {
            var cache = DeviceCache(capacity: 100, lifetime: 10)
            cache.keep(devices, of: peppered, since: cache.epoch, at: 0)
            #expect(cache.devices(of: peppered, at: 0) == devices)
            #expect(cache.devices(of: SecretKey(primary: other), at: 0) == nil)
            change(&cache)
            #expect(cache.devices(of: peppered, at: 0) == nil)
        }
    }

    @Test("it never holds more than its capacity and keeps what is asked for")
    func capacity() {
        var cache = DeviceCache(capacity: 40, lifetime: 1_000)
        cache.keep(devices, of: key, since: cache.epoch, at: 0)
        for number in 0..<1_000 {
            let other = Samples.key("secret \(number)")
            cache.keep([Self.device("cc", of: other)], of: other, since: cache.epoch, at: 0)
            #expect(cache.devices(of: key, at: 0) == devices)
        }
        let known = (0..<1_000).count { cache.devices(of: Samples.key("secret \($0)"), at: 0) != nil }
        #expect((1...20).contains(known))
    }

    @Test("after the end nothing is known and nothing is kept")
    func end() {
        var cache = DeviceCache(capacity: 100, lifetime: 10)
        let epoch = cache.epoch
        cache.keep(devices, of: key, since: epoch, at: 0)
        cache.end()
        cache.keep(devices, of: key, since: epoch, at: 0)
        cache.keep(devices, of: key, since: cache.epoch, at: 0)
        #expect(cache.devices(of: key, at: 0) == nil)
    }

    @Test("whoever changes a device sees the change at once, however many look at it meanwhile")
    func coherence() async throws {
        let database = try SQLiteDatabase()
        let storage = try await database.open()
        let key = key
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    while !Task.isCancelled {
                        _ = try await storage.devices(of: key)
                        // A look-up answered from the cache doesn't suspend, so it would never let the others continue.
                        await Task.yield()
                    }
                }
            }
            for round in 0..<200 {
                let environment: DeviceEnvironment = round.isMultiple(of: 2) ? .sandbox : .production
                _ = try await storage.register(
                    Samples.registration("aa", environment: environment), under: key, deviceLimit: 5)
                let device = try #require(try await storage.devices(of: key).first)
                #expect(device.environment == environment)
                #expect(try await storage.setEnvironment(environment.other, of: device))
                #expect(try await storage.devices(of: key).map(\.environment) == [environment.other])
                if round.isMultiple(of: 3) {
                    #expect(try await storage.remove(device, ifNotUpdatedAfter: .max))
                } else {
                    #expect(try await storage.unregister(token: "aa", under: key))
                }
                #expect(try await storage.devices(of: key) == [])
            }
            group.cancelAll()
        }
        await storage.close()
        await database.destroy()
    }
}
