import JSON

/// The parts that the agents' inputs have in common.
extension JSON.Value {
    /// A member's value if it is a string that isn't blank.
    func words(_ name: String) -> String? {
        guard let text = self[name]?.text, text.contains(where: { !$0.isWhitespace }) else { return nil }
        return text
    }

    /// The last component of the agent's directory, and the agent's name.
    func place(_ agent: HookAgent) -> String {
        guard let folder = words("cwd")?.split(separator: "/").last else { return agent.name }
        return "\(folder) (\(agent.name))"
    }

    /// A sentence about the tool that an agent wants to use or, with its command, `Bash: git push`.
    func tool(_ showsCommands: Bool) -> String? {
        guard let name = words("tool_name") else { return nil }
        guard showsCommands, let input = self["tool_input"] else { return "Wants to use \(name)." }
        let detail =
            input.words("command") ?? input.words("file_path") ?? input.words("url")
            ?? input.words("description")
        return detail.map { "\(name): \($0)" } ?? "Wants to use \(name)."
    }

    /// The tool call's identifier, if there is one; `PermissionRequest` has none in the recorded versions.
    var call: HookEvent.Identity { words("tool_use_id").map { .mark($0) } ?? .call }

    /// The first question of a tool that asks a person.
    var firstQuestion: String? { self["tool_input"]?["questions"]?.array?.first?.words("question") }

    /// The question, or a sentence saying that there is one.
    func question(_ text: String?, _ showsCommands: Bool) -> String {
        showsCommands ? text ?? "Has a question." : "Has a question."
    }

    /// Whether the agent uses its tools without asking for permission.
    var bypassesPermissions: Bool { self["permission_mode"]?.string == "bypassPermissions" }
}
