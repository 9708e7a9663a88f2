import Storage

/// The time zones that a secret's devices have registered.
enum DeviceZones {
    /// The names of all devices' zones, each once, in order.
    static func names(of devices: [Device]) -> [String] {
        Set(devices.compactMap { $0.timeZone }).sorted()
    }

    /// The name of a device's zone: its own, or that of the secret's device that registered last among those that
    /// have one; `nil` if none has.
    static func name(of device: Device, among devices: [Device]) -> String? {
        device.timeZone ?? fallback(among: devices)
    }

    private static func fallback(among devices: [Device]) -> String? {
        devices.compactMap { device in device.timeZone.map { (device, $0) } }
            .max { ($0.0.updatedAt, $0.0.id) < ($1.0.updatedAt, $1.0.id) }?.1
    }
}

extension Device {
    /// The name of the zone in its preferences.
    fileprivate var timeZone: String? {
        guard let stored = details.preferences else { return nil }
        let preferences = DevicePreferences(stored: stored)
        return preferences.timeZone ?? preferences.quietHours?.timeZone
    }
}
