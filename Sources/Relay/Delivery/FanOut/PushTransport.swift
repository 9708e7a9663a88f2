import APNs
import Storage

/// A push service's protocol, as far as a fan-out differs with it: where a device gets its pushes, which headers they have,
/// and what is sent.
///
/// Whether a device gets a push, when and in which style, is decided before, for all transports.
protocol PushTransport {
    /// Where a device gets its pushes.
    associatedtype Address
    /// What pushes of a content to similar devices have in common: keys and headers.
    associatedtype Headers

    /// A device's address; `nil` if its registration has none.
    func address(of device: Device) -> Address?

    /// Whether a device has the same headers as another.
    func haveSameHeaders(_ device: Device, _ other: Device) -> Bool

    /// The headers of pushes to a device.
    func headers(for device: Device) -> TransportHeaders<Headers>

    /// The style of pushes to devices without preferences.
    func style(of headers: Headers) -> PushStyle

    /// For the limits of each device.
    func limitKey(of address: Address, _ headers: Headers) -> DeviceKey

    /// The push of a content in a style.
    mutating func item(to address: Address, _ headers: Headers, _ style: PushStyle) -> FanOut.Item
}

/// The headers of pushes to a device.
enum TransportHeaders<Headers> {
    case found(Headers)
    /// There is no push; `reason` is for the response and the log.
    case none(reason: String)
}
