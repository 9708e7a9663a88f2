/// A category of notifications, which gives them buttons.
///
/// It is a value type, so that it can be compared and tested; ``SealedMessage/Properties/category`` contains its
/// identifier.
public struct NotificationCategory: Sendable, Hashable {
    /// The category's identifier.
    public let id: String
    /// The buttons, in order.
    public let actions: [Action]

    /// A button.
    public struct Action: Sendable, Hashable {
        /// The identifier that the app gets when somebody taps the button.
        public let id: String
        /// The button's label.
        public let title: String
        /// Whether the device must be unlocked first.
        public let needsUnlock: Bool
        /// Whether the button opens the app.
        public let opensApp: Bool
        /// Whether the button is shown as destructive.
        public let isDestructive: Bool

        /// The button's text field; `nil` for a plain button.
        public let input: TextInput?

        /// Creates a button, by default one that requires an unlocked device.
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

    /// A button's text field; the app gets the text as `UNTextInputNotificationResponse.userText`.
    public struct TextInput: Sendable, Hashable {
        /// The label of the button that sends the text.
        public let button: String
        /// The placeholder in the empty field.
        public let placeholder: String

        /// Creates a text field.
        public init(button: String, placeholder: String = "") {
            self.button = button
            self.placeholder = placeholder
        }
    }

    /// Creates a category with its buttons.
    public init(id: String, actions: [Action]) {
        self.id = id
        self.actions = actions
    }

    /// The buttons for OpenCode's permission requests; the identifiers are the words that its API uses.
    ///
    /// The visible category isn't authenticated: before the app sends an answer, it must ask the server what is being
    /// approved.
    public static let permission = NotificationCategory(
        id: "permission",
        actions: [
            Action(id: "once", title: "Allow once"), Action(id: "always", title: "Always allow"),
            Action(id: "reject", title: "Reject", isDestructive: true),
        ])
}
