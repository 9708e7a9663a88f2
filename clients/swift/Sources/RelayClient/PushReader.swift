internal import Foundation
public import PushSealing

/// Opens sealed pushes.
public struct PushReader: Sendable {
    /// The result of reading a push.
    public enum Reading: Sendable, Equatable {
        /// Show this message, which was sealed under this key.
        case opened(SealedMessage, with: NotificationKey)
        /// The push isn't sealed. An app that has a key for the push's server marks the push as not encrypted.
        case unsealed
        /// Show the push's visible text.
        case refused(Refusal)
    }

    private let keys: [NotificationKey]
    private let replays: any ReplayStore
    private let now: @Sendable () -> Int

    /// Creates a reader with the keys of all pairings.
    ///
    /// - Parameter now: The time in seconds since 1970; the system's clock if `nil`.
    public init(
        keys: [NotificationKey], replays: any ReplayStore,
        now: (@Sendable () -> Int)? = nil
    ) {
        self.keys = keys
        self.replays = replays
        self.now = now ?? { Int(Date().timeIntervalSince1970) }
    }

    /// Opens a push and remembers it; call this once, where the notification is first shown.
    public func read(_ payload: PushPayload) -> Reading {
        guard let sealed = payload.sealed else { return .unsealed }
        do throws(Refusal) {
            let (message, key) = try Envelope.openNamingKey(sealed, type: payload.sealedType, with: keys)
            try replays.withRecord(of: key.id) { record throws(Refusal) in
                try record.admit(message, now: now())
            }
            return .opened(message, with: key)
        } catch {
            return .refused(error)
        }
    }

    /// Opens a push that was shown before, such as one that was tapped.
    public func reread(_ payload: PushPayload) -> Reading {
        guard let sealed = payload.sealed else { return .unsealed }
        do throws(Refusal) {
            let (message, key) = try Envelope.openNamingKey(sealed, type: payload.sealedType, with: keys)
            return .opened(message, with: key)
        } catch {
            return .refused(error)
        }
    }
}
