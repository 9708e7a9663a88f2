/// Why an event rings: one of the relay's event types.
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
    /// The run ended with an error.
    case failed(RunError)
    /// The user or a newer run ended the run.
    case interrupted
    /// The run only summarized the conversation.
    case summarized
    /// The server stopped during the run, and may continue it at its next start.
    case stopped
}

/// An error in a run.
struct RunError: Sendable, Equatable {
    /// OpenCode's name for the error.
    var name: String?
    /// A message for the user.
    var message: String?

    /// The error for a run that ended because its server stopped.
    static let stopped = RunError(message: "The OpenCode server stopped during this run.")
}

/// OpenCode's names for errors that never ring.
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
