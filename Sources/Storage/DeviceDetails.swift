/// The optional details that a device sends about itself.
///
/// In a registration, nil keeps the stored value and any other value replaces it, except for ``webPush``.
///
/// Stored behind one reference: most devices send no details, and a device is copied several times per push.
package struct DeviceDetails: Hashable, Sendable {
    private struct Parts: Hashable, Sendable {
        let deviceName: String?
        let deviceModel: String?
        let osVersion: String?
        let appVersion: String?
        let preferences: String?
        let sealedVersions: String?
        let installationID: String?
        let webPush: String?
        let tokenKind: PushTokenKind?
    }

    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: Parts) {
            self.parts = parts
        }
    }

    private let box: Box?

    /// The device's name.
    package var deviceName: String? { box?.parts.deviceName }
    /// The device's model.
    package var deviceModel: String? { box?.parts.deviceModel }
    /// The version of the device's operating system.
    package var osVersion: String? { box?.parts.osVersion }
    /// The version of the app.
    package var appVersion: String? { box?.parts.appVersion }
    /// The device's preferences, as JSON written by the relay; storage doesn't interpret them.
    package var preferences: String? { box?.parts.preferences }
    /// The versions of sealed notifications that the device can open, as numbers separated by commas; storage doesn't
    /// interpret them.
    package var sealedVersions: String? { box?.parts.sealedVersions }
    /// The ID that the app gave its installation; at most one of a secret's devices has it.
    package var installationID: String? { box?.parts.installationID }

    /// The device's Web Push subscription, as text written by the relay; nil for an APNs device.
    ///
    /// Storage doesn't interpret it. A registration always replaces it: a device has only one transport.
    package var webPush: String? { box?.parts.webPush }

    /// The token's kind if it isn't a device's own token; the recipient is then a row of `push_token`.
    package var tokenKind: PushTokenKind? { box?.parts.tokenKind }

    /// No details.
    package static let none = DeviceDetails()

    /// Creates details from their parts.
    package init(
        deviceName: String? = nil, deviceModel: String? = nil, osVersion: String? = nil,
        appVersion: String? = nil, preferences: String? = nil, sealedVersions: String? = nil,
        installationID: String? = nil, webPush: String? = nil, tokenKind: PushTokenKind? = nil
    ) {
        let isEmpty =
            deviceName == nil && deviceModel == nil && osVersion == nil && appVersion == nil
            && preferences == nil && sealedVersions == nil && installationID == nil
            && webPush == nil && tokenKind == nil
        box =
            isEmpty
            ? nil
            : Box(
                Parts(
                    deviceName: deviceName, deviceModel: deviceModel, osVersion: osVersion,
                    appVersion: appVersion, preferences: preferences, sealedVersions: sealedVersions,
                    installationID: installationID, webPush: webPush,
                    tokenKind: tokenKind))
    }

    /// The same details with another Web Push subscription.
    package func with(webPush: String) -> DeviceDetails {
        DeviceDetails(
            deviceName: deviceName, deviceModel: deviceModel, osVersion: osVersion, appVersion: appVersion,
            preferences: preferences, sealedVersions: sealedVersions, installationID: installationID,
            webPush: webPush, tokenKind: tokenKind)
    }

    /// Whether two values contain the same details.
    package static func == (left: DeviceDetails, right: DeviceDetails) -> Bool {
        left.box?.parts == right.box?.parts
    }

    /// Hashes the details.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(box?.parts)
    }

    /// Throws if a value can't be stored unchanged.
    func validate() throws(StorageError) {
        let limit = StorageLimits.deviceDetailBytes
        try StorageText.check(deviceName ?? "", field: "deviceName", bytes: limit)
        try StorageText.check(deviceModel ?? "", field: "deviceModel", bytes: limit)
        try StorageText.check(osVersion ?? "", field: "osVersion", bytes: limit)
        try StorageText.check(appVersion ?? "", field: "appVersion", bytes: limit)
        try StorageText.check(
            preferences ?? "", field: "preferences", bytes: StorageLimits.preferencesBytes)
        try StorageText.check(
            sealedVersions ?? "", field: "sealed", bytes: StorageLimits.sealedVersionsBytes)
        try StorageText.check(
            installationID ?? "", field: "deviceID", bytes: StorageLimits.installationIDBytes)
        try StorageText.check(webPush ?? "", field: "webPush", bytes: StorageLimits.webPushBytes)
    }
}
