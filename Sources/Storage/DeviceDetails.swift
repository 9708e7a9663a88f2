/// What a device tells of itself beside its token; every part may be missing.
///
/// In a registration a part that is nil leaves what is stored as it is, and one that is given replaces it.
///
/// Kept behind one reference: most devices tell nothing, and a device is copied several times for each push.
package struct DeviceDetails: Hashable, Sendable {
    private struct Parts: Hashable, Sendable {
        let deviceName: String?
        let deviceModel: String?
        let osVersion: String?
        let appVersion: String?
        let preferences: String?
    }

    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: Parts) {
            self.parts = parts
        }
    }

    private let box: Box?

    /// The name that its owner gave it.
    package var deviceName: String? { box?.parts.deviceName }
    /// Its model.
    package var deviceModel: String? { box?.parts.deviceModel }
    /// The version of its operating system.
    package var osVersion: String? { box?.parts.osVersion }
    /// The version of the app.
    package var appVersion: String? { box?.parts.appVersion }
    /// What it wants to be sent, JSON as the relay wrote it; storage doesn't look into it.
    package var preferences: String? { box?.parts.preferences }

    /// Nothing is told.
    package static let none = DeviceDetails()

    /// Details of their parts.
    package init(
        deviceName: String? = nil, deviceModel: String? = nil, osVersion: String? = nil,
        appVersion: String? = nil, preferences: String? = nil
    ) {
        let isTold = [deviceName, deviceModel, osVersion, appVersion, preferences].contains { $0 != nil }
        box =
            isTold
            ? Box(
                Parts(
                    deviceName: deviceName, deviceModel: deviceModel, osVersion: osVersion,
                    appVersion: appVersion, preferences: preferences))
            : nil
    }

    /// Whether both tell the same.
    package static func == (left: DeviceDetails, right: DeviceDetails) -> Bool {
        left.box?.parts == right.box?.parts
    }

    /// Hashes what is told.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(box?.parts)
    }

    /// Refuses what can't be stored as it is.
    func validate() throws(StorageError) {
        let limit = StorageLimits.deviceDetailBytes
        try StorageText.check(deviceName ?? "", field: "deviceName", bytes: limit)
        try StorageText.check(deviceModel ?? "", field: "deviceModel", bytes: limit)
        try StorageText.check(osVersion ?? "", field: "osVersion", bytes: limit)
        try StorageText.check(appVersion ?? "", field: "appVersion", bytes: limit)
        try StorageText.check(
            preferences ?? "", field: "preferences", bytes: StorageLimits.preferencesBytes)
    }
}
