import Glibc
import Network
import Programs

/// The file `hooks` in the state directory: what hooks have reported, so that a prompt that triggers several hooks
/// rings only once.
///
/// Each line is `known HASH` for an announcement, or `rang MILLISECONDS HASH` for a session's ring.
struct HookMemory: Sendable {
    private let path: String

    /// Whether an event rings.
    enum Decision: Sendable, Equatable {
        case rings
        /// Another hook has already reported the event.
        case isKnown
        /// The session has rung too often within ``Bounds/hookFloodWindow``.
        case floods
    }

    /// Uses the file in a directory, which is created if necessary.
    init(directory: String) throws(FileError) {
        try SmallFile.createDirectory(directory)
        path = directory + "/hooks"
    }

    /// Decides whether an event rings, and records it.
    func take(_ event: HookEvent, of agent: HookAgent, now: EpochMilliseconds) throws(FileError)
        -> Decision
    {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileError(errno: errno) }
        defer { close(descriptor) }
        try SmallFile.lock(descriptor)
        let text = String(
            decoding: try SmallFile.read(descriptor, bytesMax: Bounds.hookFileBytesMax), as: UTF8.self)
        var contents = HookMemoryContents(text)
        let decision = contents.take(event, of: agent, now: now)
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw FileError(errno: errno)
        }
        try SmallFile.write(Array(contents.text.utf8), to: descriptor)
        return decision
    }
}

/// The rules of ``HookMemory``, a pure function of earlier reports.
///
/// Time never determines whether two events are the same. It only limits how often ends and errors ring; permissions
/// always ring.
struct HookMemoryContents: Sendable {
    private var known: [String] = []
    private var rings: [(at: EpochMilliseconds, hash: String)] = []

    /// Parses lines; invalid ones are skipped.
    init(_ text: String = "") {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, words[0] == "known" {
                known.append(String(words[1]))
            } else if words.count == 3, words[0] == "rang", let at = EpochMilliseconds(words[1]), at >= 0 {
                rings.append((at, String(words[2])))
            }
        }
    }

    /// The lines to write: the latest of each kind.
    var text: String {
        known.suffix(Bounds.hookMemoriesMax).map { "known \($0)\n" }.joined()
            + rings.suffix(Bounds.hookMemoriesMax).map { "rang \($0.at) \($0.hash)\n" }.joined()
    }

    /// Decides whether an event rings, and records it.
    mutating func take(_ event: HookEvent, of agent: HookAgent, now: EpochMilliseconds)
        -> HookMemory.Decision
    {
        func hash(_ text: String) -> String {
            Fingerprint.hex("\(agent.rawValue)\n\(event.session)\n\(text)", count: 40)
        }
        let isKnown = event.echoes.map { known.contains(hash($0)) } ?? false
        if let announced = event.announces.map(hash) {
            known.removeAll { $0 == announced }
            known.append(announced)
        }
        guard !isKnown else { return .isKnown }
        guard event.type != .permission else { return .rings }
        let session = hash("")
        // A clock that was set back must not silence anything for long.
        rings.removeAll { abs(now - $0.at) >= Bounds.hookFloodWindow.inMilliseconds }
        guard rings.count(where: { $0.hash == session }) < Bounds.hookRingsMax else { return .floods }
        rings.append((now, session))
        return .rings
    }
}
