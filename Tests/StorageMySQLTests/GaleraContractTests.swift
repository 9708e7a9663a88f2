import StorageContract
import Testing

@Suite(
    "The storage contract on a Galera cluster",
    .enabled(
        if: GaleraCluster.url != nil,
        "no cluster: Tests/Support/databases galera swift test --filter GaleraContractTests"),
    .timeLimit(.minutes(4)))
struct GaleraContractTests {
    @Test("is kept where all storages name the nodes in the same order", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await contract.run(on: MySQLDatabase(at: GaleraCluster.location(database:)))
    }
}
