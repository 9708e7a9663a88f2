/// Which of APNs' two environments a device token belongs to.
///
/// Source: Apple, "Sending notification requests to APNs". Port 2197 answers as 443 does.
package enum Environment: String, Hashable, Sendable, CaseIterable {
    /// Builds signed for development.
    case sandbox
    /// TestFlight and the App Store.
    case production

    /// The other one.
    package var other: Environment {
        switch self {
        case .sandbox: .production
        case .production: .sandbox
        }
    }
}
