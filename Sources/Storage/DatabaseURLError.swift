/// A `DATABASE_URL` that can't be used.
///
/// Its sentence names the fault and never repeats a password.
package struct DatabaseURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence, without the variable's name.
    package let description: String

    /// An error that says what is wrong.
    package init(_ description: String) {
        self.description = description
    }
}
