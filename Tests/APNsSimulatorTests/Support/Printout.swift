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
        // A thread, not the handle's handler, which sometimes crashes in libdispatch when a program exits at once.
        Thread.detachNewThread {
            var bytes: [UInt8] = []
            while true {
                let data = handle.availableData
                guard !data.isEmpty else { return continuation.finish() }
                bytes.append(contentsOf: data)
                while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: bytes[..<end], as: UTF8.self))
                    bytes.removeSubrange(...end)
                }
            }
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

    /// Waits until the output ends.
    func rest() async {
        for await line in stream { seen.append(line) }
    }
}
