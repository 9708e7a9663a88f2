import Foundation
import Synchronization

/// A directory for a test, which is removed with all its files when the object is deallocated.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        path = FileManager.default.temporaryDirectory.path + "/relay-test-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file in the directory.
    package func file(_ name: String) -> String { path + "/" + name }

    /// The text of a file in the directory.
    package func text(_ name: String) throws -> String {
        try String(contentsOfFile: file(name), encoding: .utf8)
    }
}

private let kept = Mutex<[TemporaryDirectory]>([])

/// Creates a directory for a test, which is removed when the process exits, and returns its path.
///
/// It isn't removed earlier, because a program that was started with a file's path may still read the file.
package func makeTemporaryDirectory() throws -> String {
    let directory = try TemporaryDirectory()
    kept.withLock { kept in
        if kept.isEmpty { atexit { removeKeptDirectories() } }
        kept.append(directory)
    }
    return directory.path
}

private func removeKeptDirectories() { kept.withLock { $0 = [] } }
