import OwnThread
import Storage
import StorageContract
import StoragePostgres
import Testing

private let plain = DatabaseShelf { try PostgresDatabase() }
private let adopted = DatabaseShelf { try PostgresDatabase(adopted: true, isOdd: true) }
private let unprepared = DatabaseShelf { try PostgresDatabase(query: "?prepared_statements=off") }

@Suite(
    "Postgres", .enabled(if: PostgresServer.url != nil, PostgresServer.leftOut), .timeLimit(.minutes(2)),
    .ownThread,
    plain, adopted, unprepared)
struct PostgresContractTests {
    @Test("keeps the storage contract", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await plain.run(contract)
    }

    @Test(
        "keeps the storage contract with OpenCode's tables, whatever the database's settings for sessions",
        arguments: ContractCase.all)
    func adopted(_ contract: ContractCase) async throws {
        try await StoragePostgresTests.adopted.run(contract)
    }

    @Test("keeps the storage contract without prepared statements", arguments: ContractCase.all)
    func unprepared(_ contract: ContractCase) async throws {
        try await StoragePostgresTests.unprepared.run(contract)
    }

    @Test("keeps the contract when the server or the network fails", arguments: ServerCase.all)
    func faults(_ contract: ServerCase) async throws {
        try await contract.run(on: PostgresDatabase())
    }
}

private let newest = DatabaseShelf { try PostgresDatabase(isOdd: true, on: .postgres18) }

@Suite(
    "PostgreSQL 18",
    .enabled(
        if: PostgresServer.postgres18.url != nil,
        "no PostgreSQL 18: Tests/Support/databases run --newest swift test --filter NewestPostgresTests"),
    .timeLimit(.minutes(2)), .ownThread, newest)
struct NewestPostgresTests {
    @Test("keeps the storage contract", arguments: ContractCase.all)
    func contract(_ contract: ContractCase) async throws {
        try await newest.run(contract)
    }

    @Test("keeps the contract when the server or the network fails", arguments: ServerCase.all)
    func faults(_ contract: ServerCase) async throws {
        try await contract.run(on: PostgresDatabase(on: .postgres18))
    }

    @Test("whose database limits transactions and waits for locks doesn't limit the relay's")
    func limits() async throws {
        let database = try PostgresDatabase(isOdd: true, on: .postgres18)
        let settings = Result {
            try database.connect().texts(
                """
                SELECT current_setting('transaction_timeout') UNION ALL SELECT current_setting('lock_timeout')
                """)
        }
        await database.destroy()
        #expect(try settings.get() == ["0", "0"])
    }
}
