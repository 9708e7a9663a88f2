/// A migration step that a database lacks, with its statements.
package struct PendingStep: Hashable, Sendable {
    /// The step.
    package let step: SchemaStep
    /// Its statements in order, without trailing semicolons.
    package let statements: [String]

    /// Creates a step from its parts.
    package init(step: SchemaStep, statements: [String]) {
        self.step = step
        self.statements = statements
    }
}
