public import Foundation
public import PushSealing

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#endif

/// Replay records as files in a folder, one per key, locked while they change.
///
/// The folder must be in the app group, so that the notification service extension sees the same files, and readable
/// while the device is locked: `FileProtectionType.completeUntilFirstUserAuthentication`, which is iOS' default.
public struct ReplayFiles: ReplayStore {
    private let folder: URL

    /// Records in an existing folder.
    public init(folder: URL) { self.folder = folder }

    /// Changes a record under its file's lock; one that can't be read counts as empty, one that can't be written is
    /// lost, since a text that can't be shown twice is worth less than one that can't be shown.
    public func withRecord<Result>(
        of keyID: String, _ change: (inout ReplayRecord) throws(Refusal) -> Result
    ) throws(Refusal) -> Result {
        let file = folder.appendingPathComponent("replay-\(keyID).json")
        let descriptor = unsafe open(file.path + ".lock", O_RDWR | O_CREAT, 0o600)
        defer { if descriptor >= 0 { close(descriptor) } }
        // Held for as long as a small file takes to read and write; ends with the process, too.
        if descriptor >= 0 { while flock(descriptor, LOCK_EX) != 0, errno == EINTR {} }
        let data = try? Data(contentsOf: file)
        var record = data.flatMap { try? JSONDecoder().decode(ReplayRecord.self, from: $0) } ?? ReplayRecord()
        let result = try change(&record)
        if let data = try? JSONEncoder().encode(record) { try? data.write(to: file, options: .atomic) }
        return result
    }
}
