/// What happened in a session.
enum EventType: String, CaseIterable, Sendable {
    case complete, permission, error
    /// These only concern Live Activities.
    case start, progress, end

    /// Whether devices are notified of the event.
    var rings: Bool {
        switch self {
        case .complete, .permission, .error: true
        case .start, .progress, .end: false
        }
    }

    /// Whether text is valid as a notification's kind; kinds and event types share one namespace.
    static func isKind(_ bytes: String.UTF8View) -> Bool {
        (1...Bounds.kindCountMax).contains(bytes.count)
            && bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
                default: false
                }
            }
    }

    /// The notification's default title.
    var defaultTitle: String {
        switch self {
        case .complete: "Session complete"
        case .permission: "Action needed"
        case .error: "Session error"
        case .start, .progress: "Session running"
        case .end: "Session ended"
        }
    }

    /// The notification's default text.
    var defaultBody: String {
        switch self {
        case .complete: "OpenCode finished your session."
        case .permission: "OpenCode needs your permission decision."
        case .error: "OpenCode reported an error for your session."
        case .start, .progress: "OpenCode is working on your session."
        case .end: "OpenCode stopped working on your session."
        }
    }
}
