import APNs
import Storage

/// Which of a tenant's devices a dispatch goes to.
enum Audience: Sendable, Equatable {
    /// All devices.
    case all
    /// The device with this token.
    case token(DeviceToken)
    /// The devices with these tokens.
    case tokens(Set<DeviceToken>)
    /// The device whose registration has this `id`.
    case registration(id: String)
    /// The devices in the time zones with these names, or only the one among them with the given token.
    case zones(Set<String>, only: DeviceToken?)
    /// The devices that an event reached, identified by their masked tokens.
    case reached(Set<String>)

    /// The only recipient's token, if the audience specifies one.
    var token: DeviceToken? {
        switch self {
        case .token(let token): token
        case .zones(_, let token): token
        case .all, .tokens, .registration, .reached: nil
        }
    }

    /// The recipients among a tenant's devices.
    ///
    /// - Parameter zone: Looks up a time zone.
    func recipients(among devices: [Device], zone: (String) -> TimeZoneRules?) -> Recipients {
        switch self {
        case .all: return Recipients(devices)
        case .token(let token): return Recipients(devices.filter { $0.has(token) })
        case .tokens(let tokens):
            return Recipients(devices.filter { DeviceToken($0.token).map(tokens.contains) ?? false })
        case .registration(let id): return Recipients(devices.filter { $0.id == id })
        case .zones(let names, let token):
            let all = Recipients(devices)
            let zones = DeviceZones(all, zone: zone)
            return all.filter { index in
                zones.name(index).map(names.contains) == true && token.map(devices[index].has) ?? true
            }
        case .reached(let masked): return Recipients(devices.filter { masked.contains($0.maskedToken) })
        }
    }
}

extension Device {
    /// Whether a token belongs to this device.
    ///
    /// OpenCode's relay may have stored tokens in upper case.
    fileprivate func has(_ other: DeviceToken) -> Bool { DeviceToken(token) == other }
}
