import Storage

/// The known time zones that a secret's devices have registered.
///
/// A device's zone is that of its preferences, otherwise that of its quiet hours. An unknown name counts as absent.
struct DeviceZones {
    /// Finds a time zone.
    let zone: (String) -> TimeZoneRules?

    /// The names of all devices' zones, each once, in order.
    func names(of devices: [Device]) -> [String] {
        Set(devices.compactMap(own)).sorted()
    }

    /// The name of a device's zone: its own, otherwise that of the secret's most recently registered device with one;
    /// `nil` if there is none.
    func name(of device: Device, among devices: [Device]) -> String? {
        own(device) ?? fallback(among: devices)
    }

    private func fallback(among devices: [Device]) -> String? {
        devices.compactMap { device in own(device).map { (device, $0) } }
            .max { ($0.0.updatedAt, $0.0.id) < ($1.0.updatedAt, $1.0.id) }?.1
    }

    private func own(_ device: Device) -> String? {
        guard let stored = device.details.preferences else { return nil }
        return DevicePreferences(stored: stored).timeZones.first { zone($0.name) != nil }?.name
    }
}
