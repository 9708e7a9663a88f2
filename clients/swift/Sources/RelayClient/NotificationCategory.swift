/// A category of notifications, which gives them buttons.
///
/// A value, so that it can be compared and tested; ``SealedMessage/Properties/category`` names it.
public struct NotificationCategory: Sendable, Hashable {
    /// The category's identifier.
    public let id: String
    /// The buttons, in order.
    public let actions: [Action]

    /// A button.
    public struct Action: Sendable, Hashable {
        /// What the app gets when somebody taps it.
        public let id: String
        /// What it says.
        public let title: String
        /// Whether the device must be unlocked first.
        public let needsUnlock: Bool
        /// Whether it opens the app.
        public let opensApp: Bool
        /// Whether it is shown as dangerous.
        public let isDestructive: Bool

        /// What somebody types into; `nil` for a plain button.
        public let input: TextInput?

        /// A button that needs an unlocked device.
        public init(
            id: String, title: String, needsUnlock: Bool = true, opensApp: Bool = false,
            isDestructive: Bool = false, input: TextInput? = nil
        ) {
            self.id = id
            self.title = title
            self.needsUnlock = needsUnlock
            self.opensApp = opensApp
            self.isDestructive = isDestructive
            self.input = input
        }
    }

    /// A text field of a button; the app gets the text as `UNTextInputNotificationResponse.userText`.
    public struct TextInput: Sendable, Hashable {
        /// What the button that sends the text says.
        public let button: String
        /// What the empty field says.
        public let placeholder: String

        /// A text field.
        public init(button: String, placeholder: String = "") {
            self.button = button
            self.placeholder = placeholder
        }
    }

    /// A category with its buttons.
    public init(id: String, actions: [Action]) {
        self.id = id
        self.actions = actions
    }

    /// OpenCode's answers to a request for permission; the identifiers are its API's words.
    ///
    /// The visible category isn't authenticated: before the app sends an answer, it asks the server what it approves.
    public static let permission = NotificationCategory(
        id: "permission",
        actions: [
            Action(id: "once", title: "Allow once"), Action(id: "always", title: "Always allow"),
            Action(id: "reject", title: "Reject", isDestructive: true),
        ])
}
