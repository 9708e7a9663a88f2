/// A setting as a program uses it, for display; for a secret, only whether it is set.
package struct SettingInForce: Sendable, Equatable {
    /// The setting.
    package let row: SettingRow
    /// The text that was given; `nil` for a secret, or if the default applies.
    package let text: String?
    /// The name under which it was given, such as its flag; `nil` if the default applies.
    package let place: String?

    /// Creates a setting from its parts.
    package init(row: SettingRow, text: String?, place: String?) {
        self.row = row
        self.text = text
        self.place = place
    }
}
