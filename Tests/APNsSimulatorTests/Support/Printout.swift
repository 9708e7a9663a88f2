import Foundation

/// A program's output, line by line.
actor Printout {
    struct Ended: Error, CustomStringConvertible {
        let description: String
    }

    private let stream: AsyncStream<String>
    /// The lines that the test has read.
    private(set) var seen: [String] = []

    /// Reads a pipe until the program closes it.
    init(of handle: FileHandle) {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        self.stream = stream
        let partial = Partial()
        handle.readabilityHandler = { handle in
            let data = handle.availableData
            guard !data.isEmpty else {
                handle.readabilityHandler = nil
                return continuation.finish()
            }
            for line in partial.lines(with: data) { continuation.yield(line) }
        }
    }

    /// Waits for a line.
    func line(where isWanted: @Sendable (String) -> Bool) async throws -> String {
        for await line in stream {
            seen.append(line)
            if isWanted(line) { return line }
        }
        throw Ended(description: "the program ended; it had printed:\n" + seen.joined(separator: "\n"))
    }

    /// Waits for the end.
    func rest() async {
        for await line in stream { seen.append(line) }
    }
}

/// An incomplete line.
private final class Partial: @unchecked Sendable {  // why: a handle calls its handler from one queue only
    private var bytes: [UInt8] = []

    func lines(with data: Data) -> [String] {
        bytes.append(contentsOf: data)
        var lines: [String] = []
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: bytes[..<end], as: UTF8.self))
            bytes.removeSubrange(...end)
        }
        return lines
    }
}
