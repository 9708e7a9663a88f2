import JSON

/// The meaning of a stream frame.
enum StreamSignal: Sendable, Equatable {
    /// An event for the model.
    case event(BridgeEvent)
    /// The number of a session's durable event (2.x).
    case position(SessionID, Int)
    /// The server dropped an instance with everything running or open in it.
    case stateLost
}

/// Decodes frames independently of each other; unknown frames are skipped.
enum StreamFrame {
    /// The meaning of a frame's data; empty for frames of no interest.
    static func decode(_ data: [UInt8], _ generation: Generation) -> [StreamSignal] {
        guard !isNoise(data),
            let value = try? JSON.parse(
                data, maxBytes: Bounds.streamFrameBytesMax, loneSurrogates: .replaced)
        else { return [] }
        return switch generation {
        case .first: FirstGeneration.decode(value)
        case .second: SecondGeneration.decode(value)
        }
    }

    /// Whether a frame is an agent's output, as nearly all frames are; determined without parsing it.
    ///
    /// In these frames, the first member `type` is the event's; no nested type has such a name.
    static func isNoise(_ data: [UInt8]) -> Bool {
        guard let start = data.firstRange(of: member, within: noiseSearchBytes) else { return false }
        let name = data[start...].prefix(nameBytesMax).prefix { $0 != UInt8(ascii: "\"") }
        return name.starts(with: messagePrefix) || name.elementsEqual(sync)
            || name.reversed().starts(with: deltaSuffixReversed)
    }

    private static let member = Array("\"type\":\"".utf8)
    private static let messagePrefix = Array("message.".utf8)
    private static let sync = Array("sync".utf8)
    private static let deltaSuffixReversed = Array(".delta".utf8.reversed())
    private static let noiseSearchBytes = 1_024
    private static let nameBytesMax = 64
}

extension [UInt8] {
    /// The index after the first occurrence of some bytes near the beginning.
    fileprivate func firstRange(of pattern: [UInt8], within limit: Int) -> Int? {
        let end = Swift.min(count, limit) - pattern.count
        guard end >= 0 else { return nil }
        for start in 0...end where self[start] == pattern[0] {
            var index = 1
            while index < pattern.count, self[start + index] == pattern[index] { index += 1 }
            if index == pattern.count { return start + index }
        }
        return nil
    }
}

extension JSON.Value {
    /// A hash of a request's content, the same in events and lists: its purpose, place, time and call.
    ///
    /// It covers everything that is shown.
    var asked: String {
        Fingerprint.hex(
            self,
            members: [
                "permission", "type", "action", "patterns", "pattern", "resources", "metadata", "always",
                "save", "title", "reason",
                "questions", "fields", "url", "time", "tool", "source", "messageID", "callID",
            ], count: 32)
    }

    /// A member that is a session's identifier.
    func sessionID(_ name: String = "sessionID") -> SessionID? { SessionID(self[name]?.string) }

    /// A member that is any other identifier.
    func identifier(_ name: String) -> String? {
        guard let text = self[name]?.string, (1...Bounds.identifierBytesMax).contains(text.utf8.count)
        else { return nil }
        return text
    }

    /// The strings of an array, joined.
    func joined(_ name: String) -> String? {
        guard let texts = self[name]?.array?.compactMap(\.text), !texts.isEmpty else { return nil }
        return texts.joined(separator: ", ")
    }
}
