import Glibc
import JSON
import Programs

/// Distinguishes runs started by a program, such as `claude -p`, from those that a person watches.
enum HeadlessRun {
    /// Whether nobody is watching the run that called a hook.
    ///
    /// - Parameters:
    ///   - transcript: Reads the first line of a file.
    ///   - ancestors: The hook's ancestor processes, nearest first.
    static func isHeadless(
        _ agent: HookAgent, _ input: JSON.Value, _ environment: [String: String],
        transcript: (String) -> JSON.Value? = firstLine,
        ancestors: () -> [AgentProcess] = AgentProcess.ancestors
    ) -> Bool {
        switch agent {
        case .claudeCode:
            // `cli` at a terminal, `claude-vscode` in an editor, `sdk-cli` for `-p`, `sdk-ts`, `sdk-py`.
            return environment["CLAUDE_CODE_ENTRYPOINT"]?.hasPrefix("sdk") ?? false
        case .codex:
            // Codex runs hooks in a daemon, so neither their environment nor their ancestors show whether the run is
            // headless. `notify` names the client, as does the first line of a session's file.
            if let client = input["client"]?.string { return client == codexExec }
            guard let path = input.words("transcript_path") else { return false }
            return transcript(path)?["payload"]?["originator"]?.string == codexExec
        case .gemini:
            return ancestors().first { $0.isGemini }.map { !$0.isInteractiveGemini } ?? false
        case .generic: return false
        }
    }

    private static let codexExec = "codex_exec"

    /// The first line of a file, if it is JSON of a bounded size.
    private static func firstLine(_ path: String) -> JSON.Value? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while line.count < Bounds.transcriptLineBytesMax {
            let count = read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            if let end = chunk[..<count].firstIndex(of: UInt8(ascii: "\n")) {
                line += chunk[..<end]
                break
            }
            line += chunk[..<count]
        }
        return try? JSON.parse(line, maxBytes: 2 * Bounds.transcriptLineBytesMax, loneSurrogates: .replaced)
    }
}

/// A process that may belong to an agent.
struct AgentProcess: Sendable, Equatable {
    let arguments: [String]
    /// Whether its standard input is a terminal.
    let hasTerminal: Bool

    /// Whether it is Gemini CLI: `node /usr/bin/gemini`, or the program itself.
    var isGemini: Bool {
        arguments.prefix(8).contains { argument in
            guard let name = argument.split(separator: "/").last else { return false }
            return name == "gemini" || argument.contains("/gemini-cli/")
        }
    }

    /// Whether Gemini CLI shows its terminal interface, which it doesn't with `-p` or if standard input isn't a
    /// terminal.
    var isInteractiveGemini: Bool {
        hasTerminal
            && !arguments.contains {
                $0 == "-p" || $0 == "--prompt" || $0.hasPrefix("-p=") || $0.hasPrefix("--prompt=")
            }
    }

    /// The ancestors of this process, nearest first.
    static func ancestors() -> [AgentProcess] {
        var found: [AgentProcess] = []
        var process = getppid()
        while process > 1, found.count < Bounds.ancestorProcessesMax {
            guard let status = text("/proc/\(process)/status") else { break }
            let arguments = (text("/proc/\(process)/cmdline") ?? "").split(separator: "\0").map(String.init)
            let input = SmallFile.target(of: "/proc/\(process)/fd/0")
            found.append(
                AgentProcess(
                    arguments: arguments,
                    hasTerminal: input.hasPrefix("/dev/pts/") || input.hasPrefix("/dev/tty")))
            let parent = status.split(separator: "\n").first { $0.hasPrefix("PPid:") }
            process = parent.flatMap { pid_t($0.dropFirst(5).drop { $0.isWhitespace }) } ?? 0
        }
        return found
    }

    private static func text(_ path: String) -> String? {
        do throws(FileError) {
            return String(
                decoding: try SmallFile.read(path, bytesMax: Bounds.processFileBytesMax), as: UTF8.self)
        } catch {
            return nil
        }
    }
}
