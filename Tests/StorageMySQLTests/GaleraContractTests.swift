import OwnThread
import StorageContract
import Testing

private let cluster = DatabaseShelf { try MySQLDatabase(at: GaleraCluster.location(database:)) }

@Suite(
    "The storage contract on a Galera cluster",
    .enabled(
        if: GaleraCluster.url != nil,
        "no cluster: Tests/Support/databases run --servers galera swift test --filter GaleraContractTests"),
    .timeLimit(.minutes(4)), .ownThread, cluster)
struct GaleraContractTests {
    @Test("is kept where all storages name the nodes in the same order", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await cluster.run(contract)
    }
}
