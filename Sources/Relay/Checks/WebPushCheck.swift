import Network
import WebPush

/// Checks the settings for Web Push.
///
/// Push services are not tested: the relay connects to them when there are devices.
enum WebPushCheck {
    /// Whether Web Push is on, and with which key.
    static func finding(_ configuration: WebPushConfiguration?) -> CheckFinding {
        guard let configuration else {
            return .skipped(.webPush, "", "RELAY_VAPID_SUBJECT isn't set, so browsers can't register")
        }
        let key = configuration.keys.first.map { "key \($0.keyID)" } ?? "the key in the database"
        return .ok(.webPush, "", "on, with \(key); push services can contact \(configuration.subject)")
    }

    /// A finding if the configured CA certificates can't be loaded; otherwise empty.
    static func certificates(_ caFile: String?) -> [CheckFinding] {
        guard let caFile else { return [] }
        do throws(NetworkError) {
            _ = try TLSClientContext(caFile: caFile, alpn: ["h2", "http/1.1"])
            return []
        } catch {
            return [.fault(.caFileUnusable, .webPush, "RELAY_WEBPUSH_CA_FILE", error.description)]
        }
    }
}
