/// Makes untrusted text safe for one line of a message.
package enum Quoted {
    /// The text in quotation marks, with control characters escaped, cut after 80 characters.
    package static func value(_ text: String) -> String { "\"" + name(text) + "\"" }

    /// The text with control characters escaped, cut after 80 characters, without quotation marks.
    package static func name(_ text: String) -> String {
        var safe = ""
        for scalar in text.unicodeScalars.prefix(80) {
            let isPlain =
                scalar.properties.generalCategory != .control && scalar.properties.generalCategory != .format
            safe += isPlain ? String(scalar) : scalar.escaped(asASCII: true)
        }
        return text.unicodeScalars.count > 80 ? safe + "…" : safe
    }
}
