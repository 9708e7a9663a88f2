/// An error of the control API or the command line: an HTTP status and a message for the user.
package struct ControlError: Error, Hashable, Sendable {
    package let status: Int
    package let sentence: String

    /// Creates an error; the default status is 400.
    package init(_ sentence: String, status: Int = 400) {
        self.status = status
        self.sentence = sentence
    }
}
