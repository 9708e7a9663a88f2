/// What a ring is about: the relay's event types.
enum EventType: String, Sendable, CaseIterable {
    case complete, permission, error
}

/// The category under which the app registers buttons for an event's actions.
enum NotificationCategory {
    static let permission = "permission"
}

/// How a run ended.
enum Outcome: Sendable, Equatable {
    /// The last answer is complete.
    case completed
    /// It ended with an error of this name.
    case failed(String?)
    /// The user, a shutdown or a newer run ended it.
    case interrupted
}

/// OpenCode's names of errors that never ring.
enum SilentError {
    private static let aborts: Set<String> = ["MessageAbortedError", "AbortError", "aborted"]
    private static let overflows: Set<String> = [
        "ContextOverflowError", "context-overflow", "context_overflow",
    ]

    /// Whether the user aborted the run.
    static func isAbort(_ name: String?) -> Bool { name.map(aborts.contains) ?? false }

    /// Whether the conversation was too long; OpenCode compacts it and continues.
    static func isOverflow(_ name: String?) -> Bool { name.map(overflows.contains) ?? false }
}
