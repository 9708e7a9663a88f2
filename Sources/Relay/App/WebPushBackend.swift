import Network
import Programs
import Storage
import WebPush

/// What the process needs for Web Push: its keys, and the senders on each loop.
struct WebPushBackend: Sendable {
    let keys: WebPushKeys
    private let settings: SenderSettings

    /// Reads the key in the database, or creates one if none is configured.
    init(
        _ configuration: WebPushConfiguration, storage: any KeyStorage, hasher: SecretHasher,
        at now: EpochMilliseconds
    ) async throws(StartError) {
        let stored: VAPIDKey?
        do throws(StorageError) {
            let shared = SharedVAPIDKey(in: storage, hasher)
            // With a configured key, none is created.
            stored = try await configuration.keys.isEmpty ? shared.load(at: now) : shared.look()
        } catch {
            throw StartError(.database, "cannot read the VAPID key: \(error.logDetail)")
        }
        guard let keys = configuration.keys(stored: stored) else {
            throw StartError(
                .database,
                "the VAPID key in the database can't be read: restore the rows of relay_key, or set RELAY_VAPID_PRIVATE_KEY"
            )
        }
        self.keys = keys
        settings = configuration.senderSettings
    }

    /// Creates the sender for a loop, on that loop.
    func sender(on loop: EventLoop) -> Sender {
        Sender(tokens: keys.tokens, hosts: keys.hosts, on: loop, settings: settings)
    }
}
