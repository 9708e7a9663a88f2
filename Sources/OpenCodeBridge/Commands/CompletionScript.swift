/// `opencode-bridge completion SHELL`: a script that completes commands, agents and flags.
enum CompletionScript: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The script.
    var text: String {
        switch self {
        case .bash: bashScript
        case .zsh: zshScript
        case .fish: fishScript
        }
    }

    private static var commands: String { Command.allCases.map(\.rawValue).joined(separator: " ") }
    private static var agents: String { HookAgent.allCases.map(\.rawValue).joined(separator: " ") }
    /// The words that can follow `hook AGENT`.
    private static var hookWords: String { "install uninstall --print" }
    private static var shells: String { allCases.map(\.rawValue).joined(separator: " ") }

    /// A flag, the name of its value, and its summary.
    private struct Flag {
        let name: String
        let valueName: String?
        let summary: String

        var takesPath: Bool { valueName == "FILE" || valueName == "DIRECTORY" }
    }

    private static var settings: [Flag] {
        Setting.allCases.flatMap { setting in
            let flag = Flag(name: setting.flag, valueName: setting.valueName, summary: setting.summary)
            let negative = setting.negativeFlag.map {
                Flag(name: $0, valueName: nil, summary: "the opposite of \(setting.flag)")
            }
            return [flag] + [negative].compactMap { $0 }
        }
    }

    /// The options of `pair`.
    private static var pairing: [Flag] {
        PairOptions.usage.map { usage, summary in
            let words = usage.split(separator: " ")
            return Flag(
                name: String(words.first ?? ""), valueName: words.dropFirst().first.map { String($0) },
                summary: summary)
        }
    }

    private static func names(_ flags: [Flag]) -> String { flags.map(\.name).joined(separator: " ") }

    /// A text in single quotes.
    private func quoted(_ text: String) -> String {
        // In fish, a backslash within single quotes escapes itself and the quote.
        self == .fish
            ? "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
            : "'" + text.replacing("'", with: "'\\''") + "'"
    }

    private var bashScript: String {
        let valued = (Self.settings + Self.pairing).filter { $0.valueName != nil }
        let paths = valued.filter(\.takesPath).map(\.name).joined(separator: " | ")
        let others = valued.filter { !$0.takesPath }.map(\.name).joined(separator: " | ")
        return """
            # bash completion for opencode-bridge; made by: opencode-bridge completion bash
            _opencode_bridge() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
                local words='\(Self.names(Self.settings))'
                COMPREPLY=()
                case $previous in
                \(paths))
                    compopt -o filenames 2>/dev/null
                    mapfile -t COMPREPLY < <(compgen -f -- "$current")
                    return
                    ;;
                \(others)) return ;;
                hook) words='\(Self.agents)' ;;
                completion) words='\(Self.shells)' ;;
                esac
                if [[ ${COMP_WORDS[1]} == hook ]] && ((COMP_CWORD > 2)); then words+=' \(Self.hookWords)'; fi
                if [[ ${COMP_WORDS[1]} == pair ]]; then words+=' \(Self.names(Self.pairing))'; fi
                if ((COMP_CWORD == 1)) && [[ $current != -* ]]; then words='\(Self.commands)'; fi
                mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
            }
            complete -F _opencode_bridge opencode-bridge

            """
    }

    private var zshScript: String {
        let commands = Command.allCases.map {
            "        " + quoted("\($0.rawValue):\($0.summary.replacing(":", with: "\\:"))")
        }
        func specifications(_ flags: [Flag]) -> String {
            flags.map { flag in
                var summary = flag.summary
                for character in ["\\", "[", "]", ":"] {
                    summary = summary.replacing(character, with: "\\" + character)
                }
                guard let value = flag.valueName else { return quoted("\(flag.name)[\(summary)]") }
                // Without `=`, because the options of `pair` take no `--png=FILE`.
                let action = flag.takesPath ? "_files" : " "
                return quoted("\(flag.name)[\(summary)]:\(value):\(action)")
            }.joined(separator: " \\\n        ")
        }
        return """
            #compdef opencode-bridge
            # zsh completion for opencode-bridge; made by: opencode-bridge completion zsh
            _opencode_bridge() {
                local -a commands
                commands=(
            \(commands.joined(separator: "\n"))
                )
                if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
                    _describe command commands
                    return
                fi
                if ((CURRENT == 3)); then
                    case $words[2] in
                    hook) compadd \(Self.agents); return ;;
                    completion) compadd \(Self.shells); return ;;
                    esac
                fi
                if ((CURRENT > 3)) && [[ $words[2] == hook ]]; then compadd -- \(Self.hookWords); fi
                local -a pairing
                [[ $words[2] != pair ]] || pairing=(
                    \(specifications(Self.pairing).replacing(" \\\n", with: "\n"))
                )
                _arguments $pairing \\
                    \(specifications(Self.settings))
            }
            if [ "$funcstack[1]" = _opencode_bridge ]; then
                _opencode_bridge "$@"
            else
                compdef _opencode_bridge opencode-bridge
            fi

            """
    }

    private var fishScript: String {
        let start = "complete -c opencode-bridge"
        var script = [
            "# fish completion for opencode-bridge; made by: opencode-bridge completion fish",
            "set -l commands \(Self.commands)", "\(start) -f",
        ]
        script += Command.allCases.map {
            "\(start) -n \"not __fish_seen_subcommand_from $commands\" -a \($0.rawValue) -d \(quoted($0.summary))"
        }
        script += [
            "\(start) -n '__fish_seen_subcommand_from hook' -a '\(Self.agents)'",
            "\(start) -n '__fish_seen_subcommand_from \(Self.agents)' -a '\(Self.hookWords)'",
            "\(start) -n '__fish_seen_subcommand_from completion' -a '\(Self.shells)'",
        ]
        func lines(_ flags: [Flag], _ condition: String) -> [String] {
            flags.map { flag in
                let value = flag.valueName == nil ? "" : flag.takesPath ? " -r -F" : " -x"
                return "\(start)\(condition) -l \(flag.name.dropFirst(2))\(value) -d \(quoted(flag.summary))"
            }
        }
        script += lines(Self.settings, "") + lines(Self.pairing, " -n '__fish_seen_subcommand_from pair'")
        return script.joined(separator: "\n") + "\n"
    }
}
