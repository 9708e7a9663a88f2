import StorageContract
import Testing

@Suite("SQLite")
struct SQLiteContractTests {
    @Test("keeps the storage contract", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await contract.run(on: SQLiteDatabase())
    }
}
