/// The shells for which there is a completion script.
package enum CompletionShell: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The text in single quotes.
    func quoted(_ text: String) -> String {
        // In fish, a backslash within single quotes escapes itself and the quote.
        self == .fish
            ? "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
            : "'" + text.replacing("'", with: "'\\''") + "'"
    }
}

extension CommandTable {
    /// A shell's completion script.
    package func script(for shell: CompletionShell) -> String {
        switch shell {
        case .bash: bashScript
        case .zsh: zshScript
        case .fish: fishScript
        }
    }

    private var all: [CommandSyntax] { commands + Self.common }
    private var names: String { all.map(\.name).joined(separator: " ") }
    private var function: String { "_" + program.replacing("-", with: "_") }

    /// The words that a shell completes for an argument, separated by spaces.
    private func words(of argument: CommandOption) -> String {
        (argument.name == "COMMAND" ? all.map(\.name) : argument.value.words).joined(separator: " ")
    }

    private func flags(of command: CommandSyntax) -> [CommandOption] {
        self.command(command.name) == nil ? [] : command.flags
    }

    // MARK: bash

    private var bashScript: String {
        """
        # bash completion for \(program); made by: \(program) completion bash
        \(function)() {
            local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
            local command=\(defaultCommand.name) flags= words place=$((COMP_CWORD - 2))
            local -a arguments=()
            COMPREPLY=()
            if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} != -* ]]; then command=${COMP_WORDS[1]}; fi
            case $command in
        \(all.map(bashBranch).joined(separator: "\n"))
            esac
            if ((COMP_CWORD == 1)) && [[ $current != -* ]]; then
                words='\(names)'
            elif [[ $previous == --* ]]; then
                case $previous in
        \(bashValues)
                esac
            fi
            if [[ $current != -* && $place -ge 0 && -z ${words-} ]]; then words=${arguments[place]-}; fi
            mapfile -t COMPREPLY < <(compgen -W "${words:-$flags}" -- "$current")
        }
        complete -F \(function) \(program)

        """
    }

    private func bashBranch(_ command: CommandSyntax) -> String {
        var lines = "    \(command.name)) flags='\(flags(of: command).map(\.name).joined(separator: " "))'"
        if !command.arguments.isEmpty {
            let arguments = command.arguments.map { CompletionShell.bash.quoted(words(of: $0)) }
            lines += " arguments=(\(arguments.joined(separator: " ")))"
        }
        return lines + " ;;"
    }

    /// Completions for flag values; each flag takes the same kind of value in every command.
    private var bashValues: String {
        var files: [String] = []
        var unknown: [String] = []
        var lines: [String] = []
        var seen: Set<String> = []
        for flag in commands.flatMap(\.flags) where flag.takesValue && seen.insert(flag.name).inserted {
            if flag.value.isPath {
                files.append(flag.name)
            } else if flag.value.words.isEmpty {
                unknown.append(flag.name)
            } else {
                lines.append("        \(flag.name)) words='\(flag.value.words.joined(separator: " "))' ;;")
            }
        }
        let path = """
                    compopt -o filenames 2>/dev/null
                    mapfile -t COMPREPLY < <(compgen -f -- "$current")
                    return
                    ;;
            """
        if !files.isEmpty { lines.append("        \(files.joined(separator: " | ")))\n\(path)") }
        if !unknown.isEmpty { lines.append("        \(unknown.joined(separator: " | "))) return ;;") }
        return lines.joined(separator: "\n")
    }

    // MARK: zsh

    private var zshScript: String {
        """
        #compdef \(program)
        # zsh completion for \(program); made by: \(program) completion zsh
        \(function)() {
            local -a commands
            commands=(
        \(all.map(zshDescribed).joined(separator: "\n"))
            )
            if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
                _describe command commands
                return
            fi
            local command=\(defaultCommand.name)
            if [[ $words[2] != -* ]]; then
                command=$words[2]
                shift words
                ((CURRENT--))
            fi
            case $command in
        \(all.map(zshBranch).joined(separator: "\n"))
            esac
        }
        if [ "$funcstack[1]" = \(function) ]; then \(function) "$@"; else compdef \(function) \(program); fi

        """
    }

    private func zshDescribed(_ command: CommandSyntax) -> String {
        let text = command.summary.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
        return "        " + CompletionShell.zsh.quoted("\(command.name):\(text)")
    }

    private func zshBranch(_ command: CommandSyntax) -> String {
        var parts = flags(of: command).map(zshSpecification)
        for (index, argument) in command.arguments.enumerated() {
            let words = words(of: argument)
            let action = words.isEmpty ? " " : "(\(words))"
            parts.append(CompletionShell.zsh.quoted("\(index + 1):\(argument.name):\(action)"))
        }
        guard !parts.isEmpty else { return "    \(command.name)) ;;" }
        return "    \(command.name))\n        _arguments \\\n            "
            + parts.joined(separator: " \\\n            ") + "\n        ;;"
    }

    private func zshSpecification(_ flag: CommandOption) -> String {
        var summary = flag.summary
        for character in ["\\", "[", "]", ":"] {
            summary = summary.replacing(character, with: "\\" + character)
        }
        var text = (flag.isRepeatable ? "*" : "") + flag.name + (flag.takesValue ? "=" : "") + "[\(summary)]"
        if let name = flag.value.name {
            let words = flag.value.words.joined(separator: " ")
            text +=
                flag.value.isPath ? ":file:_files" : words.isEmpty ? ":\(name): " : ":word:(\(words))"
        }
        return CompletionShell.zsh.quoted(text)
    }

    // MARK: fish

    private var fishScript: String {
        var lines = [
            "# fish completion for \(program); made by: \(program) completion fish",
            "set -l commands \(names)", "complete -c \(program) -f",
        ]
        for command in all {
            lines.append(
                "complete -c \(program) -n \"not __fish_seen_subcommand_from $commands\" -a \(command.name) -d "
                    + CompletionShell.fish.quoted(command.summary))
        }
        for command in all {
            let others = all.map(\.name).filter { $0 != command.name }.joined(separator: " ")
            let isSeen = "__fish_seen_subcommand_from \(command.name)"
            let condition =
                command.name == defaultCommand.name ? "not __fish_seen_subcommand_from \(others)" : isSeen
            for flag in flags(of: command) { lines.append(fishLine(flag, condition)) }
            for argument in command.arguments {
                let words = words(of: argument)
                guard !words.isEmpty else { continue }
                lines.append("complete -c \(program) -n '\(isSeen)' -a '\(words)'")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func fishLine(_ flag: CommandOption, _ condition: String) -> String {
        let words = flag.value.words.joined(separator: " ")
        let value =
            !flag.takesValue ? "" : flag.value.isPath ? " -r -F" : words.isEmpty ? " -x" : " -x -a '\(words)'"
        return "complete -c \(program) -n '\(condition)' -l \(flag.name.dropFirst(2))\(value) -d "
            + CompletionShell.fish.quoted(flag.summary)
    }
}
