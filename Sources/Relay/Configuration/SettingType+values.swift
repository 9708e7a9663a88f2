import Network
import Programs
import Storage

extension SettingType where Value == Duration {
    /// A whole number with its unit (`500ms`, `10s`, `5m`, `24h`, `30d`) in a range.
    static func duration(_ range: ClosedRange<Duration>) -> SettingType {
        let lowest = DurationText.render(range.lowerBound)
        let highest = DurationText.render(range.upperBound)
        return SettingType(
            accepts: "a duration from \(lowest) to \(highest)",
            parse: { text in
                guard let value = DurationText.parse(text) else {
                    return .failure(.because("expected a number with its unit: 500ms, 10s, 5m, 24h, 30d"))
                }
                return range.contains(value) ? .success(value) : .failure(.notAccepted)
            },
            render: DurationText.render)
    }
}

extension SettingType where Value == String {
    /// An IPv4 or IPv6 address, without port.
    static let address = SettingType(
        accepts: "an IPv4 or IPv6 address",
        parse: { text in
            if text == "localhost" {
                return .failure(.because("a name can resolve to several addresses; use 127.0.0.1 or ::1"))
            }
            return SocketAddress(ip: text, port: 0) == nil ? .failure(.notAccepted) : .success(text)
        },
        render: { $0 })
}

extension SettingType where Value == [AddressRange] {
    /// Ranges of IP addresses, separated by commas.
    static let addressRanges = SettingType(
        accepts: "IP addresses and ranges such as 10.0.0.0/8 or fd00::/8, separated by commas",
        parse: { text in
            var ranges: [AddressRange] = []
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                let name = String(part.drop { $0 == " " })
                guard let range = AddressRange(name) else {
                    let rule = "is not an IP address, or a range without bits after its prefix"
                    return .failure(.because("\(Quoted.value(name)) \(rule)"))
                }
                ranges.append(range)
            }
            return .success(ranges)
        },
        render: { $0.map(\.description).joined(separator: ",") })
}

/// Durations as people write them: a whole number and a unit.
enum DurationText {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// Parses `500ms`, `10s`, `5m`, `24h` or `30d`; `nil` for anything else, including a number without a unit.
    static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text.dropFirst(digits.count)
        guard let count = Int64(digits), let unit = units.first(where: { $0.suffix == suffix }) else {
            return nil
        }
        let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// The shortest text that `parse` reads as this duration (whole milliseconds).
    static func render(_ duration: Duration) -> String {
        let parts = duration.components
        let milliseconds = parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
        let unit = units.first { milliseconds % $0.milliseconds == 0 && milliseconds >= $0.milliseconds }
        // Up to two days, hours read better than days: 24h.
        if let unit, unit.suffix == "d", milliseconds < 2 * unit.milliseconds {
            return "\(milliseconds / 3_600_000)h"
        }
        guard let unit else { return "0s" }
        return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
}

extension SettingType where Value == Secret {
    /// A key for hashing secrets.
    static let pepper = SettingType(
        accepts: "at least \(SecretHasher.pepperBytesMin) bytes",
        parse: { text in
            text.utf8.count >= SecretHasher.pepperBytesMin ? .success(Secret(text)) : .failure(.notAccepted)
        },
        render: { _ in "" })
}

extension SettingType where Value == Secret {
    /// The bearer token for the admin listener.
    static let adminToken = bearerToken(16...512)

    /// The bearer token for registrations, which anyone can try to guess.
    static let registrationKey = bearerToken(Bounds.registrationKeyBytes)

    /// A bearer token (RFC 6750, section 2.1) whose length is in this range.
    private static func bearerToken(_ count: ClosedRange<Int>) -> SettingType {
        SettingType(
            accepts: "\(count.lowerBound) to \(count.upperBound) printable ASCII characters without spaces",
            parse: { text in
                count.contains(text.utf8.count) && text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
                    ? .success(Secret(text)) : .failure(.notAccepted)
            },
            render: { _ in "" })
    }
}

extension SettingType where Value == [String] {
    /// Origins of web pages (RFC 6454, section 7) in lower case, separated by commas.
    static let origins = SettingType(
        accepts: "origins such as https://console.example.org, separated by commas, or null",
        parse: { text in
            let origins = text.lowercased().split(separator: ",", omittingEmptySubsequences: false).map {
                String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
            }
            let areOrigins = origins.allSatisfy { origin in
                let parts = origin.split(separator: "://", omittingEmptySubsequences: false)
                return origin == "null"
                    || parts.count == 2 && parts.allSatisfy { !$0.isEmpty && !$0.contains("/") }
                        && origin.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            }
            return areOrigins ? .success(origins) : .failure(.notAccepted)
        },
        render: { $0.joined(separator: ",") })

    /// Domain names, separated by commas.
    static let hostNames = SettingType(
        accepts: "domain names separated by commas",
        parse: { text in
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map {
                $0.drop { $0 == " " }.prefix { $0 != " " }
            }
            let isPlain = names.allSatisfy { name in
                !name.isEmpty
                    && name.utf8.allSatisfy {
                        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                            || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
                    }
            }
            return isPlain ? .success(names.map(String.init)) : .failure(.notAccepted)
        },
        render: { $0.joined(separator: ",") })
}

extension SecretHasher {
    /// The hasher that the settings define; each pepper was validated when it was read.
    init(_ reader: inout SettingReader) {
        let pepper = reader.read(Settings.secretPepper)
        let other = reader.read(Settings.secretPepperOther)
        self = SecretHasher(pepper: pepper, other: other) ?? SecretHasher()
    }
}

extension SettingType where Value == Secret {
    /// A tenant's secret, as in requests.
    static let secret = SettingType(
        accepts: "1 to \(Bounds.secretBytesMax) bytes",
        parse: { text in
            (1...Bounds.secretBytesMax).contains(text.utf8.count)
                ? .success(Secret(text)) : .failure(.notAccepted)
        },
        render: { _ in "" })
}
