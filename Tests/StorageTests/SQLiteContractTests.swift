import StorageContract
import Testing

@Suite("SQLite", .timeLimit(.minutes(2)))
struct SQLiteContractTests {
    @Test("keeps the storage contract", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await contract.run(on: SQLiteDatabase())
    }

    @Test("keeps the storage contract in a file that OpenCode's relay made", arguments: ContractCase.all)
    func adopted(_ contract: ContractCase) async throws {
        try await contract.run(on: SQLiteDatabase(adopted: true))
    }
}
