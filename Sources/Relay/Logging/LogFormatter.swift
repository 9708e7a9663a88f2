import JSON
import Programs
import Storage

/// Formats events as lines.
///
/// Its output depends only on the event.
struct LogFormatter: Sendable {
    /// The output format.
    let format: LogFormat
    /// Whether text output is coloured; for terminals only.
    var colour = false

    /// Appends an event as a line, including the line break.
    func append(_ event: LogEvent, to bytes: inout [UInt8]) {
        switch format {
        case .json: appendJSON(event, to: &bytes)
        case .text: appendText(event, to: &bytes)
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private func appendJSON(_ event: LogEvent, to bytes: inout [UInt8]) {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("time", Timestamp(event.time).text)
        writer.member("level", event.level.rawValue)
        writer.member("event", event.name.description)
        for field in event.fields {
            writer.name(field.key)
            switch field.value {
            case .text(let text): writer.string(text)
            case .integer(let number): writer.int(number)
            case .milliseconds(let microseconds): writer.value(.number(Self.milliseconds(microseconds)))
            }
        }
        writer.endObject()
        bytes += Printable.json(writer.finish())
    }

    private static func milliseconds(_ microseconds: Int64) -> JSON.Number {
        JSON.Number(Double(microseconds) / 1000) ?? JSON.Number(0)
    }

    // MARK: Text

    private enum Column {
        static let level = 7
        static let name = 16
    }

    private func appendText(_ event: LogEvent, to bytes: inout [UInt8]) {
        append(Timestamp(event.time).text, style: .faint, to: &bytes)
        bytes.append(UInt8(ascii: " "))
        append(
            Self.padded(event.level.rawValue, Column.level), style: Self.style(of: event.level), to: &bytes)
        bytes.append(UInt8(ascii: " "))
        append(Self.padded("\(event.name)", Column.name), style: .bold, to: &bytes)
        for field in event.fields {
            append(" \(field.key)=", style: .faint, to: &bytes)
            switch field.value {
            case .text(let text): Self.appendText(text, to: &bytes)
            case .integer(let number): bytes += String(number).utf8
            case .milliseconds(let microseconds): bytes += Self.decimal(microseconds).utf8
            }
        }
        while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
    }

    /// Appends a value: unchanged if it is one plain word, otherwise quoted and escaped.
    ///
    /// This keeps an event on one line and its parts distinguishable.
    private static func appendText(_ text: String, to bytes: inout [UInt8]) {
        let isWord =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    ? scalar.value > 0x20 && scalar.value < 0x7F && scalar != "\"" && scalar != "="
                    : !Printable.isObeyed(scalar) && !scalar.properties.isWhitespace
            }
        if isWord {
            bytes += text.utf8
            return
        }
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": bytes += "\\\(scalar)".utf8
            case _ where Printable.isObeyed(scalar): bytes += scalar.escaped(asASCII: true).utf8
            default: bytes += String(scalar).utf8
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func decimal(_ microseconds: Int64) -> String {
        let fraction = String(microseconds % 1000)
        return "\(microseconds / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }

    // MARK: Colour

    /// Select Graphic Rendition codes from ECMA-48.
    private enum Style: String {
        case faint = "2"
        case bold = "1"
        case red = "31"
        case yellow = "33"
        case green = "32"
        case blue = "34"
    }

    private static func style(of level: LogLevel) -> Style {
        switch level {
        case .debug: .blue
        case .info: .green
        case .warning: .yellow
        case .error: .red
        }
    }

    private func append(_ text: String, style: Style, to bytes: inout [UInt8]) {
        guard colour else {
            bytes += text.utf8
            return
        }
        bytes += "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m".utf8
    }
}
