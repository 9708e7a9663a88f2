import Storage

/// The devices that an event goes to, and their preferences, parsed once.
struct Recipients: Sendable {
    private(set) var devices: [Device]
    /// The preferences, in the order of `devices`; empty if no device has preferences.
    private var parsed: [DevicePreferences] = []
    /// The times until which someone is looking at the secret's agents, one per reporting device, including devices
    /// that have since been left out.
    private var lookingUntil: [EpochMilliseconds] = []

    /// Creates recipients that include all of these devices.
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

    /// The preferences of all devices; empty if no device has any.
    var preferences: [DevicePreferences] { parsed }

    /// A device's preferences.
    func preferences(_ index: Int) -> DevicePreferences { parsed.isEmpty ? .none : parsed[index] }

    /// The preferences of the device with this `id`; `nil` if there is no such device.
    func preferences(of id: String?) -> DevicePreferences? {
        guard let id, let index = indices.first(where: { devices[$0].id == id }) else { return nil }
        return preferences(index)
    }

    /// Whether a push of this kind needn't alert anyone because someone is looking at the secret's agents.
    ///
    /// A time that is too far in the future for any report was written with a clock that was ahead, and is ignored.
    func areLooking(_ kind: String?, at now: EpochMilliseconds) -> Bool {
        let last = now + EpochMilliseconds(Bounds.presenceSecondsMax) * 1_000
        return kind == EventType.complete.rawValue && lookingUntil.contains { now < $0 && $0 <= last }
    }

    /// Whether any device limits how many pushes it gets.
    var haveFrequency: Bool { parsed.contains(where: \.hasFrequency) }

    /// The devices whose indices meet a condition.
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

    /// The same recipients with other tokens.
    func replacingDevices(_ replaced: (Device) -> Device) -> Recipients {
        var others = self
        others.devices = devices.map(replaced)
        return others
    }
}

extension DevicePreferences {
    /// Whether the device limits the number of pushes that it gets.
    var hasFrequency: Bool { perHour != nil || perDay != nil }
}
