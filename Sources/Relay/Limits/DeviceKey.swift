import APNs
import Storage

/// An app on a device, regardless of its secrets: the unit to which device limits apply.
struct DeviceKey: Hashable, Sendable {
    private let token: String
    private let app: FoldedBundleID

    /// The key of an app's device token.
    init(_ token: DeviceToken, _ app: FoldedBundleID) {
        self.token = token.text
        self.app = app
    }

    /// The key of an app's device token.
    init(_ token: DeviceToken, bundleID: String) {
        self.init(token, FoldedBundleID(bundleID))
    }

    /// The key of a registered device; `nil` if its token isn't valid.
    init?(_ device: Device) {
        guard let token = DeviceToken(device.token) else { return nil }
        self.init(token, bundleID: device.bundleID)
    }
}

/// A bundle ID in lower case: Apple ignores the case of bundle IDs, so a different case must not count as another
/// device.
struct FoldedBundleID: Hashable, Sendable {
    private let text: String

    /// Converts a bundle ID to lower case.
    init(_ bundleID: String) {
        text = bundleID.lowercased()
    }
}
