/// The texts that a setting accepts, and how they are parsed.
///
/// `accepts` completes the sentence "X is …: expected …", so it is a noun phrase.
package struct SettingType<Value: Sendable>: Sendable {
    /// A description of the accepted texts: "a whole number from 0 to 65535".
    package let accepts: String
    /// The form of the value, for help and completion.
    package let form: OptionValue
    /// Parses text into a value, or explains why the text is invalid.
    package let parse: @Sendable (String) -> Result<Value, SettingError>
    /// Renders a value as text that `parse` converts back to it.
    package let render: @Sendable (Value) -> String

    /// Creates a type that accepts the texts that `parse` can parse.
    package init(
        accepts: String, form: OptionValue = .text("VALUE"),
        parse: @escaping @Sendable (String) -> Result<Value, SettingError>,
        render: @escaping @Sendable (Value) -> String
    ) {
        self.accepts = accepts
        self.form = form
        self.parse = parse
        self.render = render
    }
}

/// Why the text isn't a valid value.
package enum SettingError: Error, Equatable, Sendable {
    /// The text doesn't match `SettingType.accepts`.
    case notAccepted
    /// The text is invalid for this reason: a sentence without the setting's name and without any part of a secret.
    case because(String)
    /// The text is invalid for this reason and must not be shown, such as a URL with a password.
    case withheld(String)
}

extension SettingType where Value == Int {
    /// A decimal whole number in a range, without a sign or spaces.
    package static func integer(_ range: ClosedRange<Int>, _ name: String = "N") -> SettingType {
        let unit = name == "N" ? "" : " of \(name.lowercased())"
        return SettingType(
            accepts: "a whole number\(unit) from \(range.lowerBound) to \(range.upperBound)",
            form: .number(range, name),
            parse: { text in
                guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(text),
                    range.contains(value)
                else { return .failure(.notAccepted) }
                return .success(value)
            },
            render: { String($0) })
    }
}

extension SettingType where Value == String {
    /// Text whose bytes satisfy a predicate.
    package static func text(
        _ accepts: String, form: OptionValue = .text("VALUE"),
        where holds: @escaping @Sendable (String.UTF8View) -> Bool
    ) -> SettingType {
        SettingType(
            accepts: accepts, form: form,
            parse: { text in holds(text.utf8) ? .success(text) : .failure(.notAccepted) },
            render: { $0 })
    }

    /// The path of a file.
    ///
    /// Whether it can be read is checked when it is opened.
    package static let path = text("a path", form: .path) { !$0.isEmpty && !$0.contains(0) }
}

extension SettingType where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of a fixed set of values.
    package static var choice: SettingType {
        let names = Value.allCases.map(\.rawValue)
        return SettingType(
            accepts: "one of " + names.joined(separator: ", "), form: .word(names),
            parse: { text in Value(rawValue: text).map(Result.success) ?? .failure(.notAccepted) },
            render: \.rawValue)
    }
}
