import Network
import Programs

/// The file `hook-faults` in the state directory: why each agent's last hook couldn't ring, for `agent-bridge
/// check`.
///
/// Agents hide their hooks' output. Each line contains milliseconds since 1970, the agent and a sentence.
struct HookFaults: Sendable {
    private let path: String

    init(directory: String) { path = directory + "/hook-faults" }

    /// The faults, one sentence for each agent.
    var sentences: [String] {
        read().map { fault in
            "hook \(fault.agent.rawValue): \(fault.sentence) (\(Self.age(WallClock.system.now - fault.at)) ago)"
        }
    }

    /// Records why a hook couldn't ring or, with `nil`, that it could.
    ///
    /// - Returns: Whether the fault is new, or was last recorded longer ago than ``Bounds/hookFaultPause``.
    @discardableResult
    func note(_ sentence: String?, of agent: HookAgent, now: EpochMilliseconds) -> Bool {
        var faults = read()
        let earlier = faults.first { $0.agent == agent }
        guard sentence != nil || earlier != nil else { return false }
        let pause = Bounds.hookFaultPause.inMilliseconds
        if let earlier, earlier.sentence == sentence, abs(now - earlier.at) < pause { return false }
        faults.removeAll { $0.agent == agent }
        if let sentence { faults.append((now, agent, sentence)) }
        let text = faults.map { "\($0.at) \($0.agent.rawValue) \(Console.safe($0.sentence))\n" }.joined()
        do throws(FileError) {
            try SmallFile.createDirectory(SmallFile.parent(of: path))
            try SmallFile.replace(path, with: Array(text.utf8))
        } catch {
            // `check` itself reports an unwritable directory.
        }
        return sentence != nil
    }

    private func read() -> [(at: EpochMilliseconds, agent: HookAgent, sentence: String)] {
        guard let bytes = try? SmallFile.read(path, bytesMax: Bounds.hookFileBytesMax) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 2)
            guard words.count == 3, let at = EpochMilliseconds(words[0]),
                let agent = HookAgent(rawValue: String(words[1]))
            else { return nil }
            return (at, agent, String(words[2]))
        }
    }

    /// An age in words, such as `5 minutes`.
    private static func age(_ milliseconds: EpochMilliseconds) -> String {
        let minutes = max(0, milliseconds / 60_000)
        if minutes < 120 { return "\(minutes) minutes" }
        return minutes < 48 * 60 ? "\(minutes / 60) hours" : "\(minutes / (24 * 60)) days"
    }
}
