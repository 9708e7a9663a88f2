/// What `apns-push-type` may say, and the suffix that each type adds to the bundle identifier in `apns-topic`.
///
/// Source: Apple, "Sending notification requests to APNs".
package enum PushType: String, CaseIterable, Hashable, Sendable {
    case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk,
        voip,
        widgets

    /// What follows the bundle identifier in the topic; empty for the types whose topic has none.
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

    /// Whether the payload must hold an `aps` dictionary: not for those that never reach the notification system.
    package var needsAps: Bool {
        switch self {
        case .alert, .background, .liveactivity: true
        case .complication, .controls, .fileprovider, .location, .mdm, .pushtotalk, .voip, .widgets: false
        }
    }

    /// The largest payload in bytes.
    package var payloadBytesMax: Int { self == .voip ? 5_120 : 4_096 }

    /// The type with this name in a header.
    package init?(_ text: ArraySlice<UInt8>) {
        // The two that nearly every push has come first.
        if text.equals("alert") {
            self = .alert
        } else if text.equals("background") {
            self = .background
        } else {
            self.init(rawValue: String(decoding: text, as: UTF8.self))
        }
    }
}
