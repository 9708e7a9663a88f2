/// A push service as far as its host tells, for answers and metrics.
package enum PushService: String, Hashable, Sendable, CaseIterable {
    case apple
    case google
    case mozilla
    case microsoft
    /// Any other, such as ntfy's or Nextcloud's.
    case other

    /// The service at a host in lower case.
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
