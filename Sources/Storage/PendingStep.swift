/// A step that a database lacks, and the statements that make it.
package struct PendingStep: Hashable, Sendable {
    /// The step.
    package let step: SchemaStep
    /// Its statements in their order, without a semicolon at the end.
    package let statements: [String]

    /// A step of its parts.
    package init(step: SchemaStep, statements: [String]) {
        self.step = step
        self.statements = statements
    }
}
