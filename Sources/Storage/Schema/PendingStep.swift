/// A migration step missing from a database, with the step's statements.
package struct PendingStep: Hashable, Sendable {
    /// The step.
    package let step: SchemaStep
    /// The step's statements in order, without trailing semicolons.
    package let statements: [String]

    /// Creates a step from its parts.
    package init(step: SchemaStep, statements: [String]) {
        self.step = step
        self.statements = statements
    }
}
