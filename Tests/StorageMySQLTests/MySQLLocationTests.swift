import Storage
import Testing

@testable import StorageMySQL

@Suite("MySQL's DATABASE_URL", .timeLimit(.minutes(2)))
struct MySQLLocationTests {
    @Test("a URL names servers, an account and a database")
    func whole() throws {
        let location = try MySQLLocation(
            url: "mysql://relay:p%40ss%2Fw%C3%B6rd@one:3307,[2001:db8::1]:3308,two/push%20relay")
        #expect(
            location.hosts == [
                .init(name: "one", port: 3307), .init(name: "2001:db8::1", port: 3308),
                .init(name: "two", port: 3306),
            ])
        #expect(location.user == "relay")
        #expect(location.password == Secret("p@ss/wörd"))
        #expect(location.database == "push relay")
        #expect(location.tlsMode == .preferred)
        #expect(location.socket == nil)
        #expect(location.description == "one:3307,[2001:db8::1]:3308,two:3306/push relay")
    }

    @Test("a password is kept to itself, also one with an @ that nobody escaped")
    func password() throws {
        let location = try MySQLLocation(url: "mariadb://relay:p@ss:w@host/relay")
        #expect(location.password == Secret("p@ss:w"))
        #expect(location.hosts == [.init(name: "host", port: 3306)])
        var dumped = ""
        dump(location, to: &dumped)
        #expect(!dumped.contains("ss:w"))
        #expect(try MySQLLocation(url: "mysql://relay@host/relay").password == nil)
        #expect(try MySQLLocation(url: "mysql://relay:@host/relay").password == nil)
    }

    @Test("a socket stands instead of hosts")
    func socket() throws {
        let location = try MySQLLocation(url: "mysql://relay@/relay?socket=/run/mysqld/mysqld.sock")
        #expect(location.socket == "/run/mysqld/mysqld.sock")
        #expect(location.hosts == [])
        #expect(try MySQLLocation(url: "mysql://relay@localhost/relay?socket=/s").socket == "/s")
    }

    @Test(
        "ssl-mode is what MySQL's clients call it, and certificates are always looked at",
        arguments: [
            ("", MySQLLocation.TLSMode.preferred), ("?ssl-mode=disabled", .disabled),
            ("?ssl-mode=required", .required), ("?ssl-mode=REQUIRED", .required),
            ("?ssl-mode=verify-ca&ssl-ca=ca.pem", .verifyCA), ("?ssl-mode=VERIFY_IDENTITY", .verifyIdentity),
            ("?ssl-ca=ca.pem", .verifyIdentity),
            ("?ssl-mode=required&ssl-cert=c.pem&ssl-key=k.pem", .required),
        ])
    func modes(query: String, mode: MySQLLocation.TLSMode) throws {
        #expect(try MySQLLocation(url: "mysql://relay@host/relay\(query)").tlsMode == mode)
    }

    @Test(
        "a URL that makes no sense is refused with a sentence that says why",
        arguments: [
            ("mysql:relay", "mysql://user"), ("mysql://host/relay", "no user"),
            ("mysql://@host/relay", "no user"),
            ("mysql://relay@host", "no database"), ("mysql://relay@host/", "no database"),
            ("mysql://relay@host/a/b", "slash"), ("mysql://relay@/relay", "empty host"),
            ("mysql://relay@one,,two/relay", "empty host"), ("mysql://relay@host:0/relay", "port"),
            ("mysql://relay@host:99999/relay", "port"), ("mysql://relay@host:x/relay", "port"),
            ("mysql://relay@[::1/relay", "IPv6"), ("mysql://relay:hunter2%zz@host/relay", "password"),
            ("mysql://relay:hunter2#@host/relay", "fragment"),
            ("mysql://relay@host/relay?sslmode=required", "Did you mean ssl-mode?"),
            ("mysql://relay@host/relay?ssl-mode=on", "one of disabled"),
            ("mysql://relay@host/relay?ssl-mode", "needs a value"),
            ("mysql://relay@host/relay?ssl-ca=a&ssl-ca=b", "twice"),
            ("mysql://relay@host/relay?ssl-mode=required&ssl-ca=ca.pem", "would not look at"),
            ("mysql://relay@host/relay?ssl-mode=disabled&ssl-cert=c&ssl-key=k", "would not look at"),
            ("mysql://relay@host/relay?ssl-mode=verify-ca", "needs ssl-ca"),
            ("mysql://relay@host/relay?ssl-cert=c.pem", "both are needed"),
            ("mysql://relay@/relay?socket=/s&ssl-mode=verify-identity", "no host name"),
            ("mysql://relay@host/relay?socket=/s", "not both"),
            ("mysql://relay@host/relay?timeout=5", "There are socket"),
        ])
    func refused(url: String, words: String) throws {
        let error = #expect(throws: DatabaseURLError.self) { _ = try MySQLLocation(url: url) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "no error")")
        #expect(error?.description.contains("hunter2") != true)
    }
}
