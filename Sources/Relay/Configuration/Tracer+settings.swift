import Network
import Programs

extension Tracer.Options {
    /// Reads the settings; `nil` if tracing is off, with a problem noted if a setting has no effect.
    init?(_ reader: inout SettingReader) {
        let url = reader.read(Settings.tracesURL)
        let ratio = reader.read(Settings.tracesRatio)
        let headers = reader.read(Settings.tracesHeaders) ?? []
        guard let url else {
            // An invalid URL was noted when it was read.
            guard !reader.isGiven(Settings.tracesURL.row) else { return nil }
            var idle = headers.isEmpty ? [] : [Settings.tracesHeaders.row]
            if ratio != Settings.tracesRatio.defaultValue { idle.append(Settings.tracesRatio.row) }
            for row in idle {
                reader.note("\(row.name) has no effect without RELAY_TRACES_URL, which enables traces")
            }
            return nil
        }
        self.init(url: url, headers: headers, ratio: ratio)
    }
}

extension SettingType where Value == WebAddress {
    /// A server's URL, which is not shown in messages, because it may contain a password.
    static let webAddress = SettingType(
        accepts: "a URL that begins with http:// or https://, with no password or query", form: .text("URL"),
        parse: { text in
            guard text.contains("://"), let address = try? WebAddress(text) else {
                return .failure(
                    .withheld(
                        "expected a URL that begins with http:// or https://, with no password or query"))
            }
            return .success(address)
        },
        render: \.text)
}

extension SettingType where Value == Double {
    /// A share of a whole, from 0 to 1.
    static let share = SettingType(
        accepts: "a decimal number from 0 to 1",
        parse: { text in
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
                let value = Double(text), (0...1).contains(value)
            else { return .failure(.notAccepted) }
            return .success(value)
        },
        render: { "\($0)" })
}

extension SettingType where Value == [TraceHeader] {
    /// HTTP headers, whose values are secret.
    static let traceHeaders = SettingType(
        accepts: "name=value, separated by commas",
        parse: { text in TraceHeader.parse(text).map(Result.success) ?? .failure(.notAccepted) },
        render: { _ in "" })
}

extension DatabaseEngine {
    /// The value of OpenTelemetry's `db.system.name`.
    var telemetryName: String {
        switch self {
        case .sqlite: "sqlite"
        case .postgres: "postgresql"
        case .mysql: "mysql"
        }
    }
}
