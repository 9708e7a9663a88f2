/// A section of settings, in help and documentation.
package struct SettingGroup: Sendable, Hashable {
    /// The section's title.
    package let title: String

    /// Creates a section with this title.
    package init(_ title: String) { self.title = title }
}

/// A setting's row in a program's table, independent of its type.
package struct SettingRow: Sendable, Equatable {
    /// The environment variable: `APNS_TEAM_ID`.
    package let name: String
    /// The setting's section.
    package let group: SettingGroup
    /// What the setting accepts; see `SettingType.accepts`.
    package let accepts: String
    /// The form of the value; not used for a flag that means `on`.
    package let form: OptionValue
    /// The default, as text.
    package let defaultText: String
    /// Whether the value is never printed, and can also be read from the file that `<name>_FILE` names.
    package let isSecret: Bool
    /// The setting's description, one or two sentences.
    package let summary: String
    /// The setting's flag: `--apns-team-id`, unless it has a shorter one.
    package let flag: String
    /// Why the flag is refused and what to use instead, in one sentence; `nil` if it is accepted.
    package var flagRefusal: String?
    /// The flag's value if none is given: `on`; `nil` if it needs a value.
    package var impliedValue: String?
    /// A flag without a value that means `off`: `--no-seal`.
    package var negativeFlag: String?
    /// Whether the flag can be repeated; the value is a list separated by commas.
    package var isList = false

    /// The flag for an environment variable.
    package static func flag(of name: String) -> String {
        "--" + String(name.map { $0 == "_" ? "-" : Character($0.lowercased()) })
    }

    /// Whether the setting's value is a file path.
    package var isPath: Bool { form.isPath }
    /// The variable for the path of a file that contains the value.
    ///
    /// Only for secrets.
    package var fileName: String { name + "_FILE" }
    /// The flag for the path of a file that contains the value.
    ///
    /// Only for secrets.
    package var fileFlag: String { flag + "-file" }

    /// The setting's flags on the command line, with the forms of their values.
    package var options: [CommandOption] {
        var options: [CommandOption] = []
        if flagRefusal == nil {
            options.append(CommandOption(flag, impliedValue == nil ? form : .none, summary))
            if let negativeFlag { options.append(CommandOption(negativeFlag, "The opposite of \(flag).")) }
        }
        if isSecret { options.append(CommandOption(fileFlag, .path, "A file with \(name).")) }
        return options
    }
}

/// One setting: the only place that defines its name, format and default.
package struct Setting<Value: Sendable>: Sendable {
    /// The setting's row in the table.
    package let row: SettingRow
    /// The setting's format.
    package let type: SettingType<Value>
    /// The setting's default value.
    package let defaultValue: Value

    /// Creates a setting that always has a value.
    package init(
        _ name: String, _ group: SettingGroup, _ type: SettingType<Value>, default defaultValue: Value,
        secret: Bool = false, flag: String? = nil, impliedValue: Value? = nil, _ summary: String
    ) {
        row = SettingRow(
            name: name, group: group, accepts: type.accepts, form: type.form,
            defaultText: type.render(defaultValue), isSecret: secret, summary: summary,
            flag: flag ?? SettingRow.flag(of: name), impliedValue: impliedValue.map(type.render))
        self.type = type
        self.defaultValue = defaultValue
    }

    /// Creates a setting without a default value; `unset` describes what that means.
    package init<Wrapped: Sendable>(
        _ name: String, _ group: SettingGroup, optional type: SettingType<Wrapped>, unset: String,
        secret: Bool = false, flag: String? = nil, flagRefusal: String? = nil, negativeFlag: String? = nil,
        impliedValue: Wrapped? = nil, list: Bool = false, _ summary: String
    ) where Value == Wrapped? {
        row = SettingRow(
            name: name, group: group, accepts: type.accepts, form: type.form, defaultText: unset,
            isSecret: secret, summary: summary, flag: flag ?? SettingRow.flag(of: name),
            flagRefusal: flagRefusal, impliedValue: impliedValue.map(type.render), negativeFlag: negativeFlag,
            isList: list)
        self.type = SettingType(
            accepts: type.accepts, form: type.form,
            parse: { text in type.parse(text).map { Optional($0) } },
            render: { value in value.map(type.render) ?? "" })
        self.defaultValue = nil
    }
}
