/// A device's place in the order in which ``RegistrationStorage/pruneDevices(before:after:limit:at:)`` walks over all
/// devices: by hash, then token.
package struct DeviceCursor: Hashable, Sendable {
    /// The hash exactly as stored in the row.
    package let secretHash: String
    /// The device's token.
    package let token: String

    /// Creates a cursor from a row's columns.
    package init(secretHash: String, token: String) {
        self.secretHash = secretHash
        self.token = token
    }
}

/// The result of one step of a walk over all devices.
package struct DevicePruning: Hashable, Sendable {
    /// How many devices were removed.
    package var removed = 0
    /// Where the next step begins; nil at the end.
    package var next: DeviceCursor?

    /// Creates a result.
    package init(removed: Int = 0, next: DeviceCursor? = nil) {
        self.removed = removed
        self.next = next
    }
}

/// The result of one step of a walk over all devices' preferences.
package struct PreferencesPage: Hashable, Sendable {
    /// How many devices were examined.
    package var looked = 0
    /// The preferences of the examined devices that have any.
    package var texts: [String] = []
    /// Where the next step begins; nil at the end.
    package var next: DeviceCursor?

    /// Creates a page.
    package init(looked: Int = 0, texts: [String] = [], next: DeviceCursor? = nil) {
        self.looked = looked
        self.texts = texts
        self.next = next
    }
}
