/// A push service, as identified by its host, for responses and metrics.
package enum PushService: String, Hashable, Sendable, CaseIterable {
    case apple
    case google
    case mozilla
    case microsoft
    /// Any other service, such as ntfy or Nextcloud.
    case other

    /// The service at a host; `host` must be in lower case.
    package init(host: String) {
        self =
            switch host {
            case "fcm.googleapis.com", "jmt17.google.com": .google
            case "updates.push.services.mozilla.com": .mozilla
            case _ where host.hasSuffix(".push.apple.com"): .apple
            case _ where host.hasSuffix(".notify.windows.com"): .microsoft
            default: .other
            }
    }
}
