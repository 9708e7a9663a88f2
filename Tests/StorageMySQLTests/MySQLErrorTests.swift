import Storage
import Testing

@testable import StorageMySQL

@Suite("MySQL's errors", .timeLimit(.minutes(2)))
struct MySQLErrorTests {
    @Test("a sharded keyspace of Vitess, which the relay can't migrate, is told what to do")
    func sharded() {
        let message = "Keyspace does not have exactly one shard: [-80 80-]"
        let failure = MySQLError.failure(1_105, message, doing: "SELECT", isTimeUp: false)
        guard case .unsuitable(let detail) = failure.error else {
            Issue.record("got \(failure)")
            return
        }
        #expect(detail.contains(message))
        #expect(detail.contains("relay migrate --dry-run --shards vitess"))
        let other = MySQLError.failure(1_105, "no healthy tablet", doing: "SELECT", isTimeUp: false)
        #expect(other.error.isTransient)
    }
}
