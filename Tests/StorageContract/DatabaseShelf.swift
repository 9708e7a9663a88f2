import Storage
package import Testing

/// A database that can be used again.
package protocol ClearableDatabase: ContractDatabase {
    /// Removes the rows of all tables but the schema's version.
    func clear() async throws
}

/// Keeps databases for the next contract cases, because making one takes longer than most cases.
///
/// It keeps as many as cases run at the same time. Only cases that need nothing but an open storage share them, each with
/// empty tables; they can't change anything else. It is a trait of the suite, at whose end it removes the databases.
package struct DatabaseShelf<Database: ClearableDatabase>: SuiteTrait, TestScoping {
    private let make: @Sendable () throws -> Database
    private let shelf = Guarded<[Database]>([])

    /// Nothing is on the shelf yet; `make` makes a new database.
    package init(_ make: @escaping @Sendable () throws -> Database) {
        self.make = make
    }

    /// Runs a case on a database that has been emptied, or has never been opened.
    package func run(_ contract: ContractCase) async throws {
        guard contract.needsOnlyStorage else { return try await contract.run(on: make()) }
        let database = try take() ?? make()
        do {
            try await contract.check(database)
            try await database.clear()
        } catch {
            await database.destroy()
            throw error
        }
        shelf.withLock { $0.append(database) }
    }

    private func take() -> Database? { shelf.withLock { $0.popLast() } }

    package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let result: Result<Void, any Error>
        do { result = .success(try await function()) } catch { result = .failure(error) }
        while let database = take() { await database.destroy() }
        try result.get()
    }
}
