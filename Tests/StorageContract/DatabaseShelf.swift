import Storage
package import Testing

/// A database that can be used again.
package protocol ClearableDatabase: ContractDatabase {
    /// Removes the rows of all tables but the schema's version.
    func clear() async throws
}

/// Keeps a database for the next contract case, because making one takes longer than most cases.
///
/// Only cases that need nothing but an open storage share it, each with empty tables; they can't change anything else.
/// It is a trait of the suite, at whose end it removes the database.
package struct DatabaseShelf<Database: ClearableDatabase>: SuiteTrait, TestScoping {
    private let make: @Sendable () throws -> Database
    private let shelf = Guarded<Database?>(nil)

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
        let other = shelf.withLock { kept in
            defer { kept = database }
            return kept
        }
        await other?.destroy()
    }

    private func take() -> Database? {
        shelf.withLock { kept in
            defer { kept = nil }
            return kept
        }
    }

    package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let result: Result<Void, any Error>
        do { result = .success(try await function()) } catch { result = .failure(error) }
        await take()?.destroy()
        try result.get()
    }
}
