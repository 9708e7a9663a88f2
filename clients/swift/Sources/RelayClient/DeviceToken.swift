public import Foundation
internal import PushSealing

/// A device token as an app receives it from APNs.
public struct DeviceToken: Sendable, Hashable {
    /// The token in lower-case hexadecimal digits, which is how the relay compares tokens.
    public let hex: String

    /// Creates a token from the data that `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)` receives.
    public init(_ data: Data) { hex = Hexadecimal.text(Array(data)) }

    /// Creates a token from hexadecimal digits in either case; `nil` unless their number is even and from 2 to 400.
    public init?(hex: String) {
        guard let bytes = Hexadecimal.bytes(hex), (1...200).contains(bytes.count) else { return nil }
        self.hex = Hexadecimal.text(bytes)
    }
}

extension DeviceToken: CustomStringConvertible {
    /// The last characters of the token, as in the relay's responses.
    public var description: String { "…" + hex.suffix(8) }
}
