import Storage
package import Testing

/// A database that can be used again.
package protocol ClearableDatabase: ContractDatabase {
    /// Removes the rows of all tables except the schema's version.
    func clear() async throws
}

/// Keeps databases for later contract cases, because creating one takes longer than most cases.
///
/// It keeps as many databases as cases run at the same time. Only cases that need just an open storage share them, each
/// with empty tables; such cases can't change anything else. A suite trait, it removes the databases at the end.
package struct DatabaseShelf<Database: ClearableDatabase>: SuiteTrait, TestScoping {
    private let make: @Sendable () throws -> Database
    private let shelf = Guarded<[Database]>([])

    /// Creates an empty shelf; `make` creates a database.
    package init(_ make: @escaping @Sendable () throws -> Database) {
        self.make = make
    }

    /// Runs a case on a database that has been emptied or has never been opened.
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
