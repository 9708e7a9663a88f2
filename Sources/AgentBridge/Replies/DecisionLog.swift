import Glibc
import Programs

/// The file `decisions.log` in the state directory: what phones decided on this machine, one line per request.
///
/// Each line contains the time, the agent, the tool, the SHA-256 of the request, and the decision or the reason why
/// there was none, but no text from a request or a reply.
struct DecisionLog: Sendable {
    private let path: String

    init(directory: String) { path = directory + "/decisions.log" }

    /// Appends a line durably.
    ///
    /// - Parameter decision: A reply's action, or a word for why there was none.
    func append(
        _ agent: String, tool: String, digest: String, decision: String, at now: EpochMilliseconds
    ) throws(FileError) {
        let line = [Timestamp(now).text, agent, Self.word(tool), digest, Self.word(decision)].joined(
            separator: " ")
        try SmallFile.createDirectory(SmallFile.parent(of: path))
        let descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileError(errno: errno) }
        defer { close(descriptor) }
        try SmallFile.lock(descriptor)
        guard fchmod(descriptor, 0o600) == 0 else { throw FileError(errno: errno) }
        try shorten(descriptor)
        try SmallFile.write(Array((line + "\n").utf8), to: descriptor)
        guard fsync(descriptor) == 0 else { throw FileError(errno: errno) }
    }

    /// Removes the older half of a file that has grown too large.
    private func shorten(_ descriptor: Int32) throws(FileError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError(errno: errno) }
        guard status.st_size > Bounds.decisionFileBytesMax else { return }
        let start = status.st_size - off_t(Bounds.decisionFileBytesMax / 2)
        guard lseek(descriptor, start, SEEK_SET) >= 0 else { throw FileError(errno: errno) }
        let bytes = try SmallFile.read(descriptor, bytesMax: Bounds.decisionFileBytesMax)
        let kept = bytes.drop { $0 != UInt8(ascii: "\n") }.dropFirst()
        guard ftruncate(descriptor, 0) == 0 else { throw FileError(errno: errno) }
        try SmallFile.write(Array(kept), to: descriptor)
    }

    /// A name reduced to one word.
    private static func word(_ text: String) -> String {
        let kept = text.prefix(Bounds.decisionToolCharactersMax).map { character in
            character.isASCII && (character.isLetter || character.isNumber || "_.:-".contains(character))
                ? character : "_"
        }
        return kept.isEmpty ? "-" : String(kept)
    }
}
