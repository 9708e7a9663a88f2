/// The APNs environment of a device token.
///
/// Source: Apple, "Sending notification requests to APNs". Port 2197 works like 443.
package enum Environment: String, Hashable, Sendable, CaseIterable {
    /// Development builds.
    case sandbox
    /// TestFlight and App Store builds.
    case production

    /// The other environment.
    package var other: Environment {
        switch self {
        case .sandbox: .production
        case .production: .sandbox
        }
    }
}
