import Storage

/// The known time zones that a secret's devices have registered.
///
/// A device's zone is the zone in its preferences, otherwise the zone of its quiet hours. An unknown name counts as
/// absent.
struct DeviceZones {
    /// The devices' own zones, in the order of the devices.
    private let own: [String?]
    /// The zone of the most recently registered device that has a zone.
    private let latest: String?

    /// - Parameter zone: Looks up a time zone.
    init(_ recipients: Recipients, zone: (String) -> TimeZoneRules?) {
        let own = recipients.indices.map { index in
            recipients.preferences(index).timeZones.first { zone($0.name) != nil }?.name
        }
        let devices = recipients.devices
        latest = recipients.indices.filter { own[$0] != nil }
            .max { (devices[$0].updatedAt, devices[$0].id) < (devices[$1].updatedAt, devices[$1].id) }
            .flatMap { own[$0] }
        self.own = own
    }

    /// The names of all devices' zones, each once, in order.
    var names: [String] { Set(own.compactMap(\.self)).sorted() }

    /// The name of a device's zone: its own, otherwise the zone of the secret's most recently registered device that
    /// has a zone; `nil` if there is none.
    func name(_ index: Int) -> String? { own[index] ?? latest }
}
