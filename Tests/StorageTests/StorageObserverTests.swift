import Storage
import StorageContract
import Testing

@testable import StorageSQLite

@Suite("Observed calls", .timeLimit(.minutes(2)))
struct StorageObserverTests {
    private final class Observer: StorageObserver {
        let calls = Guarded<[String]>([])

        func beganCall() -> UInt64 { 7 }

        func endedCall(_ name: String, began: UInt64, isFailed: Bool) {
            calls.withLock { $0.append("\(name) \(began) \(isFailed ? "failed" : "done")") }
        }
    }

    @Test("An observer learns the names of its task's calls that reach the database, and no other task's")
    func names() async throws {
        try await withDatabase { database in
            let storage = try await database.open()
            let observer = Observer()
            let key = Samples.key("secret")
            await StorageCalls.$observer.withValue(observer) {
                _ = try? await storage.devices(of: key)
                // Cached since the first look-up.
                _ = try? await storage.devices(of: key)
                _ = try? await storage.schemaVersion()
                _ = try? await storage.block(BlockedSecret(secretHash: key.primary, createdAt: 1), limit: 5)
                _ = try? await storage.unregister(token: "aa", under: key, at: 1)
                await Task { _ = try? await storage.blockedSecrets(limit: 5) }.value
            }
            _ = try await storage.schemaVersion()
            await storage.close()
            await StorageCalls.$observer.withValue(observer) { _ = try? await storage.schemaVersion() }
            let names = ["devices", "schemaVersion", "block", "unregister", "blockedSecrets"]
            let expected = names.map { "\($0) 7 done" } + ["schemaVersion 7 failed"]
            #expect(observer.calls.withLock { $0 } == expected)
        }
    }
}
