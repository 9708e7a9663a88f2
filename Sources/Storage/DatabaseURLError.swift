/// A `DATABASE_URL` that can't be used.
///
/// The description states the problem and never contains a password.
package struct DatabaseURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence that states the problem, without the variable's name.
    package let description: String

    /// Creates an error with a description of the problem.
    package init(_ description: String) {
        self.description = description
    }
}
