package import Storage
import Testing

extension Storage {
    /// Unregisters a device at an arbitrary time.
    package func unregister(token: String, under key: SecretKey) async throws(StorageError) -> Bool {
        try await unregister(token: token, under: key, at: Samples.time)
    }

    /// Removes a device at an arbitrary time.
    package func remove(
        _ device: Device, ifNotUpdatedAfter time: EpochMilliseconds
    ) async throws(StorageError) -> Bool {
        try await remove(device, ifNotUpdatedAfter: time, at: Samples.time)
    }
}

extension ContractCase {
    static let queueDevices: [ContractCase] = [
        ContractCase(open: "a push is claimed with its device as currently registered") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            _ = try await storage.enqueue([Samples.pending(device)], lease: nil, limitPerSecret: 9)
            let later = Samples.registration(
                "aa", bundleID: "com.example.new", environment: .sandbox, at: Samples.time + 5)
            try await storage.register(later, key)
            let claimed = try await storage.claimed(at: Samples.time)
            #expect(claimed.map(\.device?.bundleID) == ["com.example.new"])
            #expect(claimed.map(\.device?.environment) == [.sandbox])
            #expect(claimed.map(\.device?.updatedAt) == [Samples.time + 5])
        },

        ContractCase(open: "unregistering ends the pushes queued for the device and no others") {
            storage async throws in
            let (mine, yours) = (Samples.key("mine"), Samples.key("yours"))
            let gone = try await storage.registered("aa", mine)
            let stays = try await storage.registered("bb", mine)
            let other = try await storage.registered("aa", yours)
            let pushes = [gone, gone, stays, other].map { Samples.pending($0) }
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
            #expect(try await storage.unregister(token: "aa", under: mine, at: Samples.time + 5))
            #expect(try await storage.countPushes(limit: 9) == 2)
            let ends = pushes.prefix(2).map { push in
                Delivery(
                    id: push.id, secretHash: push.secretHash, eventType: push.eventType,
                    sessionID: push.sessionID, status: .failed, error: "DeviceRemoved",
                    createdAt: Samples.time + 5, deviceID: gone.id)
            }
            #expect(Set(try await storage.deliveries(of: mine, before: nil, limit: 9)) == Set(ends))
            #expect(try await storage.deliveries(of: yours, before: nil, limit: 9) == [])
            let left = try await storage.claimed(at: Samples.time).map(\.push.id)
            #expect(Set(left) == Set(pushes.suffix(2).map(\.id)))
        },

        ContractCase(open: "removing a device ends its pushes, and a stale removal ends none") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let other = try await storage.registered("bb", key)
            _ = try await storage.enqueue(
                [Samples.pending(device), Samples.pending(other)], lease: nil, limitPerSecret: 9)
            #expect(try await !storage.remove(device, ifNotUpdatedAfter: Samples.time - 1))
            #expect(try await storage.countPushes(limit: 9) == 2)
            #expect(try await storage.deliveries(of: key, before: nil, limit: 9) == [])
            #expect(try await storage.remove(device, ifNotUpdatedAfter: Samples.time, at: Samples.time + 7))
            let log = try await storage.deliveries(of: key, before: nil, limit: 9)
            #expect(log.map(\.error) == ["DeviceRemoved"])
            #expect(log.map(\.createdAt) == [Samples.time + 7])
            #expect(try await storage.claimed(at: Samples.time).map(\.device) == [other])
        },

        ContractCase(
            open: "a push leased when its device is removed has only the end that its owner records"
        ) {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let (sent, again, waiting) = (
                Samples.pending(device), Samples.pending(device), Samples.pending(device)
            )
            let lease = Samples.lease()
            _ = try await storage.enqueue([sent, again], lease: lease, limitPerSecret: 9)
            _ = try await storage.enqueue([waiting], lease: nil, limitPerSecret: 9)
            #expect(try await storage.unregister(token: "aa", under: key))
            let back = Settlement(
                id: again.id, secretHash: key.primary, owner: lease.owner,
                end: .again(dueAt: Samples.time, attempts: 2))
            #expect(try await storage.settle([Samples.over(sent, lease.owner), back]) == [true, true])
            let log = try await storage.deliveries(of: key, before: nil, limit: 9)
            #expect(Set(log.map(\.id)) == [sent.id, waiting.id] && log.count == 2)
            // The next claim finds that the push has no device.
            let claimed = try await storage.claimed(at: Samples.time)
            #expect(claimed.map(\.push.id) == [again.id])
            #expect(claimed.map(\.device) == [nil])
        },

        ContractCase(open: "concurrent claims, ends and removals leave every push with one end") {
            storage async throws in
            let key = Samples.key("secret")
            for round in 0..<20 {
                let device = try await storage.registered("token \(round)", key)
                let pushes = (0..<4).map { _ in Samples.pending(device) }
                _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 99)
                _ = try await concurrently(2) { lane in
                    if lane == 0 {
                        _ = try await storage.unregister(token: device.token, under: key)
                    } else {
                        let lease = Samples.lease()
                        let claimed = try await storage.claimed(lease).map(\.push)
                        _ = try await storage.settle(claimed.map { Samples.over($0, lease.owner) })
                    }
                }
                #expect(try await storage.countPushes(limit: 9) == 0)
                let log = try await storage.deliveries(of: key, before: nil, limit: 999)
                #expect(log.count == 4 * (round + 1))
                #expect(Set(log.map(\.id)).count == log.count)
            }
        },

        ContractCase(open: "no push is stored for a removed device") { storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let other = try await storage.registered("bb", key)
            #expect(try await storage.unregister(token: "aa", under: key))
            // Registered again under the same token, it is another device.
            _ = try await storage.registered("aa", key)
            let results = try await storage.enqueue(
                [Samples.pending(device), Samples.pending(other)], lease: nil, limitPerSecret: 9)
            #expect(results == [.deviceGone, .queued])
            #expect(try await storage.countPushes(limit: 9) == 1)
        },

        ContractCase(open: "pushes move under the pepper with their device") { storage async throws in
            let before = Samples.key("secret")
            let after = SecretKey(
                primary: SecretHash(Digest256(of: Array("peppered".utf8))), legacy: [before.primary])
            let device = try await storage.registered("aa", before)
            let push = Samples.pending(device)
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            try await storage.register(Samples.registration("bb"), after)
            let lease = Samples.lease()
            let claimed = try #require(try await storage.claimed(lease).first)
            #expect(claimed.push.secretHash == after.primary)
            #expect(claimed.push.id == push.id)
            #expect(claimed.device?.token == "aa")
            #expect(try await storage.settle([Samples.over(push, lease.owner)]) == [false])
            #expect(try await storage.settle([Samples.over(claimed.push, lease.owner)]) == [true])
        },
    ]

    static let details: [ContractCase] = [
        ContractCase(open: "the details of a device are stored unchanged") { storage async throws in
            let key = Samples.key("secret")
            let details = DeviceDetails(
                deviceName: "Jo's 📱 ", deviceModel: "iPhone19,1", osVersion: "", appVersion: "2.0 (77)",
                preferences: #"{"eventTypes":["complete"]}"#, sealedVersions: "1,200",
                installationID: "An installation ~")
            try await storage.register(Samples.registration("aa", details: details), key)
            try await storage.register(Samples.registration("bb", at: Samples.time + 1), key)
            #expect(try await storage.devices(of: key).map(\.details) == [details, .none])
        },

        ContractCase(open: "an update replaces the details it gives and leaves the others") {
            storage async throws in
            let key = Samples.key("secret")
            let first = DeviceDetails(
                deviceName: "one", deviceModel: "model", osVersion: "1", preferences: "{}",
                sealedVersions: "1")
            try await storage.register(Samples.registration("aa", details: first), key)
            let second = DeviceDetails(deviceName: "two", osVersion: "", appVersion: "9")
            try await storage.register(Samples.registration("aa", details: second), key)
            try await storage.register(Samples.registration("aa"), key)
            let expected = DeviceDetails(
                deviceName: "two", deviceModel: "model", osVersion: "", appVersion: "9", preferences: "{}",
                sealedVersions: "1")
            #expect(try await storage.devices(of: key).map(\.details) == [expected])
        },

        ContractCase(open: "details with a NUL or over their limit are refused") { storage async throws in
            let key = Samples.key("secret")
            let long = String(repeating: "n", count: StorageLimits.deviceDetailBytes + 1)
            for name in ["a\0b", long] {
                await #expect(throws: StorageError.invalidValue(field: "deviceName")) {
                    try await storage.register(
                        Samples.registration("aa", details: DeviceDetails(deviceName: name)), key)
                }
            }
            #expect(try await storage.devices(of: key) == [])
        },

        ContractCase(open: "the newest delivery to each device is found, only among the secret's own") {
            storage async throws in
            let (mine, yours) = (Samples.key("mine"), Samples.key("yours"))
            var devices: [Device] = []
            for token in ["aa", "bb", "cc"] { devices.append(try await storage.registered(token, mine)) }
            let rows = [
                Samples.delivery(mine, at: Samples.time, to: devices[0].id),
                Samples.delivery(
                    mine, status: .failed, error: "Expired", at: Samples.time + 2, to: devices[0].id),
                Samples.delivery(mine, at: Samples.time + 1, to: devices[0].id),
                Samples.delivery(mine, at: Samples.time, to: devices[1].id),
                Samples.delivery(mine, at: Samples.time + 9),
                Samples.delivery(yours, at: Samples.time + 9, to: devices[0].id),
            ]
            try await storage.append(rows)
            let last = try await storage.lastDeliveries(to: devices, under: mine)
            #expect(Set(last) == [rows[1], rows[3]])
            #expect(try await storage.lastDeliveries(to: [], under: mine) == [])
            let log = try await storage.deliveries(of: mine, before: nil, limit: 9)
            #expect(Set(log) == Set(rows.prefix(5)))
        },
    ]
}
