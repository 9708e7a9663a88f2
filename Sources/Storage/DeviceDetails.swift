/// What a device tells of itself beside its token; every part may be missing.
///
/// In a registration a part that is nil leaves what is stored as it is, and one that is given replaces it.
package struct DeviceDetails: Hashable, Sendable {
    /// The name that its owner gave it.
    package var deviceName: String?
    /// Its model.
    package var deviceModel: String?
    /// The version of its operating system.
    package var osVersion: String?
    /// The version of the app.
    package var appVersion: String?
    /// What it wants to be sent, JSON as the relay wrote it; storage doesn't look into it.
    package var preferences: String?

    /// Nothing is told.
    package static let none = DeviceDetails()

    /// Details of their parts.
    package init(
        deviceName: String? = nil, deviceModel: String? = nil, osVersion: String? = nil,
        appVersion: String? = nil, preferences: String? = nil
    ) {
        self.deviceName = deviceName
        self.deviceModel = deviceModel
        self.osVersion = osVersion
        self.appVersion = appVersion
        self.preferences = preferences
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
