import Storage

/// The time zones that a secret's devices have registered and that are known.
///
/// A device's zone is that of its preferences, or else that of its quiet hours. A name that isn't known counts as absent.
struct DeviceZones {
    /// Finds a time zone.
    let zone: (String) -> TimeZoneRules?

    /// The names of all devices' zones, each once, in order.
    func names(of devices: [Device]) -> [String] {
        Set(devices.compactMap(own)).sorted()
    }

    /// The name of a device's zone: its own, or that of the secret's device that registered last among those that
    /// have one; `nil` if none has.
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
