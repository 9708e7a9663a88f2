import Glibc
import JSON
import Programs

/// The end of a Claude Code session's transcript, where a use of a tool has a result once its request is answered.
///
/// Claude Code doesn't tell a waiting hook that its request was allowed at the desk.
struct ClaudeTranscript: Sendable {
    /// A request's state according to the transcript.
    enum State: Sendable, Equatable {
        case open, answered
        /// The transcript can't be read, or doesn't contain the request, as with sub-agents.
        case unknown
    }

    private let path: String?
    private let input: JSON.Value
    private let start: off_t
    /// The file's size when the request began.
    let sizeAtStart: off_t
    /// How many earlier uses of the tool with this input already had a result.
    private let before: Int

    /// Records the transcript's state when the request begins.
    init(_ input: JSON.Value) {
        self.input = input
        path = input["transcript_path"]?.string
        let size = Self.size(path)
        sizeAtStart = size
        start = max(0, size - off_t(Bounds.transcriptBytesMax / 4))
        before = Self.uses(path, start, input)?.answered ?? 0
    }

    /// The file's size, which changes with each entry; 0 if it can't be read.
    var size: off_t { Self.size(path) }

    private static func size(_ path: String?) -> off_t {
        var status = stat()
        guard let path, stat(path, &status) == 0 else { return 0 }
        return status.st_size
    }

    /// The request's state now.
    var state: State {
        guard let uses = Self.uses(path, start, input) else { return .unknown }
        if uses.answered > before { return .answered }
        return uses.open > 0 ? .open : .unknown
    }

    /// The uses of the input's tool with the same input; `nil` if the file can't be read.
    private static func uses(_ path: String?, _ start: off_t, _ input: JSON.Value) -> (
        open: Int, answered: Int
    )? {
        guard let path, let bytes = read(path, start) else { return nil }
        let wanted = Fingerprint.hex(input, members: ["tool_input"], count: 64)
        var uses: Set<String> = []
        var results: Set<String> = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            // The first line may be incomplete.
            guard let entry = try? JSON.parse(Array(line), maxBytes: bytes.count, loneSurrogates: .replaced)
            else { continue }
            for part in entry["message"]?["content"]?.array ?? [] {
                switch part["type"]?.string {
                case "tool_use" where part["name"]?.string == input["tool_name"]?.string:
                    guard let id = part["id"]?.string, let given = part["input"] else { continue }
                    if Fingerprint.hex(["tool_input": given], members: ["tool_input"], count: 64) == wanted {
                        uses.insert(id)
                    }
                case "tool_result": if let id = part["tool_use_id"]?.string { results.insert(id) }
                default: continue
                }
            }
        }
        let answered = uses.intersection(results).count
        return (uses.count - answered, answered)
    }

    /// Reads the file from a position; `nil` if it isn't a regular file or has grown too much since.
    private static func read(_ path: String, _ start: off_t) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            lseek(descriptor, start, SEEK_SET) >= 0
        else { return nil }
        return try? SmallFile.read(descriptor, bytesMax: Bounds.transcriptBytesMax)
    }
}
