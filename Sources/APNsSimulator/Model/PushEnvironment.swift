/// The two separate services that APNs consists of.
///
/// A device token belongs to one of them.
package enum PushEnvironment: String, CaseIterable, Hashable, Sendable {
    case production
    case sandbox
}
