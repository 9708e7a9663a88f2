public import Foundation
public import PushSealing

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#endif

/// Replay records as files in a folder, one per key, locked while they change.
///
/// Waits at most ``lockDeadline`` for a lock that another process holds; then the record is used without the lock,
/// since a notification service extension has half a minute for everything.
///
/// The folder must be in the app group, so that the notification service extension sees the same files, and readable
/// while the device is locked: `FileProtectionType.completeUntilFirstUserAuthentication`, which is the default on iOS.
public struct ReplayFiles: ReplayStore {
    /// How long to wait for another process, which holds the lock only while it reads and writes a small file.
    public static let lockDeadline = Duration.seconds(2)
    private static let lockPauseMicroseconds: UInt32 = 5000

    private let folder: URL

    /// Creates a store for records in an existing folder.
    public init(folder: URL) { self.folder = folder }

    /// Changes a record under its file's lock.
    ///
    /// A record that can't be read counts as empty, and a change that can't be written is lost, since it is better to
    /// show a message twice than not at all.
    public func withRecord<Result>(
        of keyID: String, _ change: (inout ReplayRecord) throws(Refusal) -> Result
    ) throws(Refusal) -> Result {
        let file = folder.appendingPathComponent("replay-\(keyID).json")
        let descriptor = unsafe open(file.path + ".lock", O_RDWR | O_CREAT, 0o600)
        defer { if descriptor >= 0 { close(descriptor) } }
        if descriptor >= 0 { lock(descriptor) }
        let data = try? Data(contentsOf: file)
        var record = data.flatMap { try? JSONDecoder().decode(ReplayRecord.self, from: $0) } ?? ReplayRecord()
        let result = try change(&record)
        if let data = try? JSONEncoder().encode(record) { try? data.write(to: file, options: .atomic) }
        return result
    }

    // The lock ends when the descriptor is closed or the process ends.
    private func lock(_ descriptor: Int32) {
        let end = ContinuousClock.now + Self.lockDeadline
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0, [EWOULDBLOCK, EINTR].contains(errno),
            ContinuousClock.now < end
        {
            usleep(Self.lockPauseMicroseconds)
        }
    }
}
