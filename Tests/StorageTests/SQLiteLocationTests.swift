import Storage
import StorageSQLite
import Testing

@Suite("SQLite's DATABASE_URL", .timeLimit(.minutes(2)))
struct SQLiteLocationTests {
    @Test(
        "a URL names a file",
        arguments: [
            ("sqlite:relay.db", "relay.db"),
            ("sqlite:data/relay.db", "data/relay.db"),
            ("sqlite:./relay.db", "./relay.db"),
            ("sqlite:/var/lib/relay/relay.db", "/var/lib/relay/relay.db"),
            ("sqlite:///var/lib/relay/relay.db", "/var/lib/relay/relay.db"),
            ("SQLite:relay.db", "relay.db"),
            ("sqlite:my%20relay%C3%A9.db", "my relayé.db"),
            ("sqlite:50%25%3F%23.db", "50%?#.db"),
            ("sqlite:a+b.db", "a+b.db"),
        ])
    func path(url: String, path: String) throws {
        #expect(try SQLiteLocation(url: url).path == path)
    }

    @Test(
        "a URL that names none is refused with a sentence that says why",
        arguments: [
            ("sqlite:", "no file name"), ("sqlite://", "absolute"), ("sqlite:///", "no file name"),
            ("sqlite:data/", "no file name"), ("sqlite://relay.db", "absolute"),
            ("sqlite://localhost/relay.db", "absolute"), ("sqlite::memory:", "must be a file"),
            ("sqlite:relay.db?mode=ro", "\"mode\" is unknown"), ("sqlite:relay.db?", "no options"),
            ("sqlite:relay.db#x", "no options"), ("sqlite:a%2.db", "escape"), ("sqlite:a%zz.db", "escape"),
            ("sqlite:a%00.db", "escape"), ("sqlite:a\0.db", "NUL"), ("sqlite:%ff.db", "escape"),
            ("sqlite:a%", "escape"),
            ("postgres://host/db", "sqlite:relay.db"), ("relay.db", "sqlite:relay.db"),
            ("", "sqlite:relay.db"),
        ])
    func refused(url: String, words: String) throws {
        let error = #expect(throws: DatabaseURLError.self) { _ = try SQLiteLocation(url: url) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "no error")")
    }
}
