import Glibc
import JSON
import Programs

/// A file in the state directory's folder `asked` that exists while a hook waits for a reply.
///
/// As long as it exists, the request may be answered from the phone. The agent's other hooks remove it when they see
/// that the request is over, and the waiting hook removes it when it accepts a reply: only one of them succeeds.
struct OpenAsk: Sendable {
    private let path: String

    private static func directory(_ state: String) -> String { state + "/asked" }

    /// Creates the file.
    ///
    /// - Parameter number: Distinguishes requests for the same use of a tool.
    init(_ input: JSON.Value, of agent: HookAgent, number: String, state: String) throws(FileError) {
        let directory = Self.directory(state)
        try SmallFile.createDirectory(state)
        try SmallFile.createDirectory(directory)
        Self.removeOld(in: directory)
        path = "\(directory)/\(Self.session(input, agent))-\(Self.call(input))-\(number)"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileError(errno: errno) }
        Glibc.close(descriptor)
    }

    /// Whether no other hook has seen the request's end.
    var isOpen: Bool { SmallFile.exists(path) }

    /// Ends the request; false if it was already over.
    func close() -> Bool { unlink(path) == 0 }

    /// Removes the files of requests that a hook's input shows to be over.
    static func closeOver(_ input: JSON.Value, of agent: HookAgent, state: String) {
        let prefix: String
        switch input["hook_event_name"]?.string {
        case "PostToolUse": prefix = "\(session(input, agent))-\(call(input))-"
        case "Stop" where input["agent_id"] == nil && !ClaudeCodeHook.hasBackgroundWork(input),
            "StopFailure" where input["agent_id"] == nil, "SessionEnd":
            prefix = "\(session(input, agent))-"
        default: return
        }
        for name in names(in: directory(state)) where name.hasPrefix(prefix) {
            unlink(directory(state) + "/" + name)
        }
    }

    private static func session(_ input: JSON.Value, _ agent: HookAgent) -> String {
        Fingerprint.hex("\(agent.rawValue)\n\(input["session_id"]?.string ?? "")", count: 16)
    }

    /// Identifies a use of a tool.
    ///
    /// Leaves out the input of questions and plans, because it changes: answers are added to a question, and a plan may
    /// be edited.
    private static func call(_ input: JSON.Value) -> String {
        let isChanged = ["AskUserQuestion", "ExitPlanMode"].contains(input["tool_name"]?.string)
        return Fingerprint.hex(
            input, members: ["agent_id", "tool_name"] + (isChanged ? [] : ["tool_input"]), count: 16)
    }

    /// Removes files left behind by hooks that were killed.
    private static func removeOld(in directory: String) {
        let oldest = time(nil) - Int(Bounds.agentTimeout.components.seconds)
        for name in names(in: directory) {
            var status = stat()
            let path = directory + "/" + name
            if lstat(path, &status) == 0, status.st_mtim.tv_sec < oldest { unlink(path) }
        }
    }

    private static func names(in directory: String) -> [String] {
        guard let listing = opendir(directory) else { return [] }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
