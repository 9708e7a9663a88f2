import Programs

/// The manual page opencode-bridge(1), in man(7) macros.
enum ManualPage {
    /// The whole page.
    static var text: String {
        // Usage, about, commands, options, the server's password.
        let help = HelpText.text.split(separator: "\n\n")
        let usage = (help.first ?? "").split(separator: "\n").map { line in
            String(line.drop { $0 == " " }.trimmingPrefix("usage: "))
        }
        var page = [
            ".\\\" Made by: opencode-bridge man",
            ".TH OPENCODE\\-BRIDGE 1 \"\" \"opencode\\-bridge \(Version.current)\" \"APN relay\"",
            // Flags must not be hyphenated.
            ".nh", ".SH NAME", "opencode\\-bridge \\- rings phones for OpenCode and other agents",
            ".SH SYNOPSIS", ".nf",
        ]
        page += usage.map(escaped) + [".fi", ".SH DESCRIPTION"]
        page += help.dropFirst().prefix(1).map { escaped(String($0)) }
        page.append(".SH COMMANDS")
        for command in Command.allCases {
            page += [".TP", ".B \(escaped(command.rawValue))", escaped(command.summary)]
        }
        page += [
            ".SH OPTIONS",
            "Each option is also an environment variable and a setting in the configuration file.",
            "Options take precedence over variables, and variables over the file.",
        ]
        for setting in Setting.allCases {
            let value = setting.valueName.map { " " + $0 } ?? ""
            page += [
                ".TP", ".B \(escaped("\(setting.flag)\(value), \(setting.variable)"))",
                escaped(setting.summary),
            ]
        }
        page.append(".SH OPTIONS OF PAIR")
        for (usage, summary) in PairOptions.usage {
            page += [".TP", ".B \(escaped(usage))", escaped(summary)]
        }
        page += [".SH ENVIRONMENT"] + help.suffix(1).map { escaped(String($0)) } + files
        page += [".SH SEE ALSO", ".BR relay (1).", ".PP", "/usr/share/doc/apn\\-relay/guide/opencode.md"]
        return page.joined(separator: "\n") + "\n"
    }

    private static var files: [String] {
        [
            (".SH FILES", ""), ("~/.config/opencode-bridge/config", "The configuration file."),
            ("~/.local/state/opencode-bridge", "The secret and the queue."),
        ].flatMap { $0.1.isEmpty ? [$0.0] : [".TP", ".I \(escaped($0.0))", escaped($0.1)] }
    }

    /// Escapes a line of text, so that nothing is interpreted as a request and hyphens can be copied.
    private static func escaped(_ text: String) -> String {
        let line = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("`", with: "\\(ga")
            .replacing("~", with: "\\(ti")
        return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }
}
