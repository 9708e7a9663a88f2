/// The values of `apns-push-type`, with the topic suffix and payload limit of each.
///
/// Source: Apple, "Sending notification requests to APNs".
package enum PushType: String, CaseIterable, Hashable, Sendable {
    case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk,
        voip,
        widgets

    /// The suffix after the bundle identifier in the topic; empty for types without one.
    package var topicSuffix: StaticString {
        switch self {
        case .alert, .background, .mdm: ""
        case .complication: ".complication"
        case .controls: ".push-type.controls"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .pushtotalk: ".voip-ptt"
        case .voip: ".voip"
        case .widgets: ".push-type.widgets"
        }
    }

    /// Whether the payload must have an `aps` dictionary; pushes that never reach the notification system need none.
    package var needsAps: Bool {
        switch self {
        case .alert, .background, .liveactivity: true
        case .complication, .controls, .fileprovider, .location, .mdm, .pushtotalk, .voip, .widgets: false
        }
    }

    /// The largest payload in bytes.
    package var payloadBytesMax: Int { self == .voip ? 5_120 : 4_096 }

    /// Parses the header's value.
    package init?(_ text: ArraySlice<UInt8>) {
        // The types of nearly all pushes come first.
        if text.equals("alert") {
            self = .alert
        } else if text.equals("background") {
            self = .background
        } else {
            self.init(rawValue: String(decoding: text, as: UTF8.self))
        }
    }
}
