import Foundation
import Synchronization

private let directories = Mutex<[String]?>(nil)

/// Creates a directory for a test, and removes it with all its files when the process exits.
///
/// It isn't removed earlier, because a program that was started with a file's path may still read the file.
package func makeTemporaryDirectory() throws -> String {
    let path = FileManager.default.temporaryDirectory.path + "/relay-test-" + UUID().uuidString
    try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    directories.withLock { directories in
        if directories == nil { atexit { removeDirectories() } }
        directories = (directories ?? []) + [path]
    }
    return path
}

private func removeDirectories() {
    for path in directories.withLock({ $0 ?? [] }) { try? FileManager.default.removeItem(atPath: path) }
}
