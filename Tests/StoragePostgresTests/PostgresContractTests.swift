import StorageContract
import Testing

@Suite("Postgres", .enabled(if: PostgresServer.url != nil, PostgresServer.leftOut), .timeLimit(.minutes(2)))
struct PostgresContractTests {
    @Test("keeps the storage contract", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await contract.run(on: PostgresDatabase())
    }

    @Test("keeps the storage contract with OpenCode's tables", arguments: ContractCase.all)
    func adopted(_ contract: ContractCase) async throws {
        try await contract.run(on: PostgresDatabase(adopted: true))
    }

    @Test("keeps the storage contract without prepared statements", arguments: ContractCase.all)
    func unprepared(_ contract: ContractCase) async throws {
        try await contract.run(on: PostgresDatabase(query: "?prepared_statements=off"))
    }

    @Test("keeps the contract when server and network don't do their part", arguments: ServerCase.all)
    func faults(_ contract: ServerCase) async throws {
        try await contract.run(on: PostgresDatabase())
    }
}
