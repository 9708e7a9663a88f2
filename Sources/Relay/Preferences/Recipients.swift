import Storage

/// The devices that an event goes to, and their preferences, parsed once.
struct Recipients: Sendable {
    private(set) var devices: [Device]
    /// In the order of `devices`; empty if no device has preferences.
    private var parsed: [DevicePreferences] = []
    /// Until when somebody looks at the secret's agents, by device; also of devices that were left out since.
    private var lookingUntil: [EpochMilliseconds] = []

    /// All of these devices.
    init(_ devices: [Device] = []) {
        self.devices = devices
        // Uses indices to avoid copying devices.
        guard devices.indices.contains(where: { devices[$0].details.preferences != nil }) else { return }
        parsed = devices.indices.map { index in
            devices[index].details.preferences.map { DevicePreferences(stored: $0) } ?? .none
        }
        lookingUntil = parsed.compactMap(\.lookingUntil)
    }

    var count: Int { devices.count }
    var isEmpty: Bool { devices.isEmpty }
    var indices: Range<Int> { devices.indices }

    /// The preferences of each device that may have some.
    var preferences: [DevicePreferences] { parsed }

    /// A device's preferences.
    func preferences(_ index: Int) -> DevicePreferences { parsed.isEmpty ? .none : parsed[index] }

    /// The preferences of the device with this `id`; `nil` if there is no such device.
    func preferences(of id: String?) -> DevicePreferences? {
        guard let id, let index = indices.first(where: { devices[$0].id == id }) else { return nil }
        return preferences(index)
    }

    /// Whether a push of this kind needn't ring, because somebody looks at the secret's agents.
    ///
    /// A time that no report gives is that of a clock which was ahead, and doesn't count.
    func areLooking(_ kind: String?, at now: EpochMilliseconds) -> Bool {
        let last = now + EpochMilliseconds(Bounds.presenceSecondsMax) * 1_000
        return kind == EventType.complete.rawValue && lookingUntil.contains { now < $0 && $0 <= last }
    }

    /// Whether a device limits how many pushes it gets.
    var haveFrequency: Bool { parsed.contains(where: \.hasFrequency) }

    /// Some of the devices, by index.
    func filter(_ isIncluded: (Int) -> Bool) -> Recipients {
        choose(indices.filter(isIncluded))
    }

    /// The devices at these indices.
    func choose(_ chosen: [Int]) -> Recipients {
        var some = Recipients()
        some.devices = chosen.map { devices[$0] }
        some.lookingUntil = lookingUntil
        if !parsed.isEmpty { some.parsed = chosen.map { parsed[$0] } }
        return some
    }

    /// The same recipients under other tokens.
    func replacingDevices(_ replaced: (Device) -> Device) -> Recipients {
        var others = self
        others.devices = devices.map(replaced)
        return others
    }
}

extension DevicePreferences {
    /// Whether it limits the number of pushes.
    var hasFrequency: Bool { perHour != nil || perDay != nil }
}
