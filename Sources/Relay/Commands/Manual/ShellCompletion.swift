/// The shells with a completion script.
enum CompletionShell: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The script.
    var script: String {
        switch self {
        case .bash: BashCompletion.script
        case .zsh: ZshCompletion.script
        case .fish: FishCompletion.script
        }
    }

    /// A text in single quotes, for all three shells.
    fileprivate func quoted(_ text: String) -> String {
        // In fish, a backslash within single quotes escapes itself and the quote.
        self == .fish
            ? "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
            : "'" + text.replacing("'", with: "'\\''") + "'"
    }

    /// The words accepted as a command, with their descriptions.
    fileprivate static var commands: [(name: String, summary: String)] {
        CommandSyntax.all.map { ($0.command.rawValue, $0.summary) } + CommandSyntax.others
    }

    fileprivate static var names: String { commands.map(\.name).joined(separator: " ") }
    fileprivate static var shells: String { allCases.map(\.rawValue).joined(separator: " ") }
}

private enum BashCompletion {
    static var script: String {
        """
        # bash completion for relay; made by: relay completion bash
        _relay() {
            local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=serve flags words
            COMPREPLY=()
            if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} != -* ]]; then command=${COMP_WORDS[1]}; fi
            case $command in
        \(CommandSyntax.all.map(branch).joined(separator: "\n"))
            help) words='\(Command.allCases.map(\.rawValue).joined(separator: " "))' ;;
            completion) words='\(CompletionShell.shells)' ;;
            esac
            if ((COMP_CWORD == 1)) && [[ $current != -* ]]; then
                words='\(CompletionShell.names)'
            elif [[ $previous == --* && -z ${words-} ]]; then
                case $previous in
        \(values)
                esac
            fi
            mapfile -t COMPREPLY < <(compgen -W "${words-$flags}" -- "$current")
        }
        complete -F _relay relay

        """
    }

    private static func branch(_ syntax: CommandSyntax) -> String {
        "    \(syntax.command.rawValue)) flags='\(syntax.flags.map(\.name).joined(separator: " "))' ;;"
    }

    /// Completions for flag values; each flag takes the same value in every command.
    private static var values: String {
        var files: [String] = []
        var unknown: [String] = []
        var lines: [String] = []
        var seen: Set<String> = []
        for flag in CommandSyntax.all.flatMap(\.flags) where seen.insert(flag.name).inserted {
            switch flag.value {
            case .none: break
            case .file: files.append(flag.name)
            case .other: unknown.append(flag.name)
            case .words(let words):
                lines.append("        \(flag.name)) words='\(words.joined(separator: " "))' ;;")
            }
        }
        let path = """
                    compopt -o filenames 2>/dev/null
                    mapfile -t COMPREPLY < <(compgen -f -- "$current")
                    return
                    ;;
            """
        lines.append("        \(files.joined(separator: " | ")))\n\(path)")
        lines.append("        \(unknown.joined(separator: " | "))) return ;;")
        return lines.joined(separator: "\n")
    }
}

private enum ZshCompletion {
    static var script: String {
        """
        #compdef relay
        # zsh completion for relay; made by: relay completion zsh
        _relay() {
            local -a commands
            commands=(
        \(CompletionShell.commands.map(described).joined(separator: "\n"))
            )
            if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
                _describe command commands
                return
            fi
            local command=serve
            if [[ $words[2] != -* ]]; then
                command=$words[2]
                shift words
                ((CURRENT--))
            fi
            case $command in
        \(CommandSyntax.all.map(branch).joined(separator: "\n"))
            help) _arguments '1:command:(\(Command.allCases.map(\.rawValue).joined(separator: " ")))' ;;
            completion) _arguments '1:shell:(\(CompletionShell.shells))' ;;
            esac
        }
        if [ "$funcstack[1]" = _relay ]; then _relay "$@"; else compdef _relay relay; fi

        """
    }

    private static func described(_ command: (name: String, summary: String)) -> String {
        let text = command.summary.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
        return "        " + CompletionShell.zsh.quoted("\(command.name):\(text)")
    }

    private static func branch(_ syntax: CommandSyntax) -> String {
        let specifications = syntax.flags.map { "            " + specification($0) }
        return "    \(syntax.command.rawValue))\n        _arguments \\\n"
            + specifications.joined(separator: " \\\n") + "\n        ;;"
    }

    private static func specification(_ flag: CommandSyntax.Flag) -> String {
        var summary = flag.summary
        for character in ["\\", "[", "]", ":"] {
            summary = summary.replacing(character, with: "\\" + character)
        }
        let text =
            switch flag.value {
            case .none: "\(flag.name)[\(summary)]"
            case .file: "\(flag.name)=[\(summary)]:file:_files"
            case .words(let words): "\(flag.name)=[\(summary)]:word:(\(words.joined(separator: " ")))"
            case .other(let name): "\(flag.name)=[\(summary)]:\(name): "
            }
        return CompletionShell.zsh.quoted(text)
    }
}

private enum FishCompletion {
    static var script: String {
        var lines = [
            "# fish completion for relay; made by: relay completion fish",
            "set -l commands \(CompletionShell.names)", "complete -c relay -f",
        ]
        for (name, summary) in CompletionShell.commands {
            lines.append(
                "complete -c relay -n \"not __fish_seen_subcommand_from $commands\" -a \(name) -d "
                    + CompletionShell.fish.quoted(summary))
        }
        for syntax in CommandSyntax.all {
            let name = syntax.command.rawValue
            // The default command is serve.
            let others = CompletionShell.commands.map(\.name).filter { $0 != name }.joined(separator: " ")
            let condition =
                syntax.command == .serve
                ? "not __fish_seen_subcommand_from \(others)" : "__fish_seen_subcommand_from \(name)"
            for flag in syntax.flags { lines.append(line(flag, condition)) }
        }
        lines.append(
            "complete -c relay -n '__fish_seen_subcommand_from completion' -a '\(CompletionShell.shells)'")
        return lines.joined(separator: "\n") + "\n"
    }

    private static func line(_ flag: CommandSyntax.Flag, _ condition: String) -> String {
        let value =
            switch flag.value {
            case .none: ""
            case .file: " -r -F"
            case .words(let words): " -x -a '\(words.joined(separator: " "))'"
            case .other: " -x"
            }
        return "complete -c relay -n '\(condition)' -l \(flag.name.dropFirst(2))\(value) -d "
            + CompletionShell.fish.quoted(flag.summary)
    }
}
