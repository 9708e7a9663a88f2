import JSON
import Storage

/// Turns events into lines.
///
/// A pure function of the event.
struct LogFormatter: Sendable {
    /// How lines look.
    let format: LogFormat
    /// Whether text is coloured; for terminals only.
    var colour = false

    /// Appends one event as a line with its line break.
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
        bytes += writer.finish()
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

    /// A value as it stands when it is one plain word, otherwise in quotation marks, so that a line stays one
    /// line and its parts can be told apart.
    private static func appendText(_ text: String, to bytes: inout [UInt8]) {
        let isWord =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    ? scalar.value > 0x20 && scalar.value < 0x7F && scalar != "\"" && scalar != "="
                    : !isInvisible(scalar) && !scalar.properties.isWhitespace
            }
        if isWord {
            bytes += text.utf8
            return
        }
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": bytes += "\\\(scalar)".utf8
            case _ where isInvisible(scalar): bytes += scalar.escaped(asASCII: true).utf8
            default: bytes += String(scalar).utf8
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether a character could move a terminal's cursor or hide what stands beside it.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: true
        default: false
        }
    }

    private static func decimal(_ microseconds: Int64) -> String {
        let fraction = String(microseconds % 1000)
        return "\(microseconds / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }

    // MARK: Colour

    /// Select Graphic Rendition codes of ECMA-48.
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

/// A moment as RFC 3339 writes it, in UTC with milliseconds.
struct Timestamp: Sendable {
    private let milliseconds: EpochMilliseconds

    /// A moment by its milliseconds since 1970.
    init(_ milliseconds: EpochMilliseconds) {
        self.milliseconds = milliseconds
    }

    /// `2026-11-21T12:47:37.123Z`.
    var text: String {
        let day = milliseconds.floorDivided(by: 86_400_000)
        let time = milliseconds - day * 86_400_000
        let date = Self.date(ofDay: day)
        return String(unsafeUninitializedCapacity: 24) { buffer in
            var count = 0
            func append(_ number: Int64, _ digits: Int, _ mark: UInt8) {
                var rest = number
                for place in stride(from: count + digits - 1, through: count, by: -1) {
                    buffer[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                buffer[count + digits] = mark
                count += digits + 1
            }
            append(date.year, 4, UInt8(ascii: "-"))
            append(date.month, 2, UInt8(ascii: "-"))
            append(date.day, 2, UInt8(ascii: "T"))
            append(time / 3_600_000, 2, UInt8(ascii: ":"))
            append(time / 60_000 % 60, 2, UInt8(ascii: ":"))
            append(time / 1000 % 60, 2, UInt8(ascii: "."))
            append(time % 1000, 3, UInt8(ascii: "Z"))
            return count
        }
    }

    /// `2026-11-21 12:47:37`, for people who are told that it is UTC.
    var toTheSecond: String {
        String(text.prefix(10)) + " " + String(text.prefix(19).suffix(8))
    }

    /// The Gregorian date of a day counted from 1970-01-01 (Howard Hinnant's `civil_from_days`): years are
    /// counted from March, so that the leap day is a year's last.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

extension Int64 {
    /// The quotient rounded down, also below zero.
    func floorDivided(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
