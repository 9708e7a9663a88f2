/// Why the control API refuses a request: a status, and a sentence for the person who wrote it.
package struct ControlProblem: Error, Hashable, Sendable {
    package let status: Int
    package let sentence: String

    /// A problem; 400 unless another status is given.
    package init(_ sentence: String, status: Int = 400) {
        self.status = status
        self.sentence = sentence
    }
}
