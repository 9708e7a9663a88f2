import Foundation

/// The wall clock of a relay, which a test sets while it runs; the monotonic clock goes on as ever.
///
/// Debian's libfaketime stands between the program and the system, so the program is the one that is shipped.
struct FakeClock: Sendable {
    private static let libraries = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    ]

    private let directory = try? TemporaryDirectory()
    private let library: String
    private let file: String

    /// A clock that is right.
    init() throws {
        guard let directory, let library = Self.libraries.first(where: FileManager.default.fileExists) else {
            throw Program.Failure(description: "no libfaketime: apt-get install libfaketime")
        }
        self.library = library
        file = directory.file("offset")
        try set(ahead: 0)
    }

    /// What makes a program go by this clock.
    var environment: [String: String] {
        [
            "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
        ]
    }

    /// Sets the clock so many seconds ahead of the right time, or behind.
    func set(ahead seconds: Int) throws {
        // Replaced as a whole: the program reads it at any moment.
        try Data((seconds < 0 ? "\(seconds)" : "+\(seconds)").utf8)
            .write(to: URL(fileURLWithPath: file), options: .atomic)
    }
}
