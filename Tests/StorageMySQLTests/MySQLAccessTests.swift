import CEvent
import Glibc
import OwnThread
import Storage
import StorageContract
import StorageMySQL
import Testing

@Suite("Connecting to MariaDB", MySQLServer.isThere, .timeLimit(.minutes(2)), .ownThread)
struct MySQLAccessTests {
    private func refusal(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
        } catch let failure as SQLFailure {
            guard case .refused(let detail) = failure.error, failure.kind == .other else {
                Issue.record("got \(failure)")
                return nil
            }
            return detail
        }
        return nil
    }

    private func cipher(_ connection: MySQLConnection) throws -> String {
        var cipher = "none"
        try connection.query("SHOW STATUS LIKE 'Ssl_cipher'", []) { row throws(SQLFailure) in
            cipher = try row.text(1)
        }
        return cipher
    }

    @Test(
        "each ssl-mode lets in whom it should",
        arguments: [
            ("127.0.0.1", "?ssl-mode=preferred"), ("127.0.0.1", "?ssl-mode=required"),
            ("127.0.0.1", "?ssl-mode=verify-ca&ssl-ca=DIR/ca.pem"),
            ("localhost", "?ssl-mode=verify-identity&ssl-ca=DIR/ca.pem"), ("localhost", "?ssl-ca=DIR/ca.pem"),
        ])
    func encrypted(host: String, options: String) throws {
        let options = options.replacing("DIR", with: MySQLServer.certificates)
        #expect(try cipher(try MySQLServer.connect(host: host, options: options)) != "")
    }

    @Test("without TLS where the URL says so")
    func plain() throws {
        #expect(try cipher(try MySQLServer.connect(options: "?ssl-mode=disabled")) == "")
    }

    @Test(
        "each ssl-mode refuses whom it should",
        arguments: [
            ("127.0.0.1", "?ssl-mode=verify-ca&ssl-ca=DIR/other-ca.pem"),
            ("localhost", "?ssl-mode=verify-identity&ssl-ca=DIR/other-ca.pem"),
            // The certificate is for localhost.
            ("127.0.0.1", "?ssl-mode=verify-identity&ssl-ca=DIR/ca.pem"),
            // The certificate isn't signed by the system's authorities.
            ("localhost", "?ssl-mode=verify-identity"),
        ])
    func refused(host: String, options: String) throws {
        let options = options.replacing("DIR", with: MySQLServer.certificates)
        let detail = try refusal { _ = try MySQLServer.connect(host: host, options: options) }
        #expect(detail != nil)
    }

    @Test("a certificate's file that isn't there is named")
    func missingFile() throws {
        let detail = try refusal { _ = try MySQLServer.connect(options: "?ssl-ca=/nowhere/ca.pem") }
        #expect(detail?.contains("/nowhere/ca.pem") == true)
    }

    @Test("a client shows its certificate where the account asks for one")
    func clientCertificate() throws {
        try MySQLServer.withAccount("REQUIRE X509") { name in
            let directory = MySQLServer.certificates
            let options = "?ssl-cert=\(directory)/client.pem&ssl-key=\(directory)/client-key.pem"
            let connection = try MySQLServer.connect(account: name, options: options)
            #expect(try connection.integer("SELECT 1") == 1)
            let detail = try refusal { _ = try MySQLServer.connect(account: name) }
            #expect(detail?.contains("denied") == true)
        }
    }

    @Test(
        "accounts prove their passwords each in its way, and a wrong one is told without it",
        arguments: ["mysql_native_password", "ed25519"])
    func accounts(plugin: String) throws {
        try MySQLServer.withAccount("IDENTIFIED VIA \(plugin) USING PASSWORD('pass word')") { name in
            let connection = try MySQLServer.connect(account: "\(name):pass%20word")
            #expect(try connection.integer("SELECT 1") == 1)
            let detail = try refusal { _ = try MySQLServer.connect(account: "\(name):hunter2") }
            #expect(detail?.contains("denied") == true)
            #expect(detail?.contains("hunter2") == false)
        }
    }

    @Test("a database that isn't there is a refusal")
    func noDatabase() throws {
        let detail = try refusal { _ = try MySQLServer.connect(to: "no_such_database") }
        #expect(detail?.contains("no_such_database") == true)
    }

    @Test("a session for reading changes nothing")
    func readOnly() throws {
        var options = ServerOptions.patient
        options.access = .readOnly
        let connection = try MySQLServer.connect(server: options)
        let error = #expect(throws: SQLFailure.self) {
            _ = try connection.execute("DELETE FROM mysql.help_topic WHERE help_topic_id = ?", [.integer(-1)])
        }
        guard case .readOnly = error?.error else {
            Issue.record("got \(String(describing: error))")
            return
        }
    }

    @Test("hosts are tried in their order until one answers, by name, IPv4 and IPv6")
    func severalHosts() throws {
        let silent = try SilentServer()
        var options = ServerOptions()
        // Also enough for the responding server, which may be slow on a busy machine.
        options.connectTimeout = .seconds(8)
        for first in ["127.0.0.1:\(silent.port)", "127.0.0.1:1", "[::1]:1", "no-such-host.invalid"] {
            let connection = try MySQLServer.connect(host: "\(first),127.0.0.1", server: options)
            #expect(try connection.integer("SELECT 1") == 1)
        }
    }

    @Test("a server that is silent, or not there, is given up in time and may be tried again")
    func unreachable() throws {
        let silent = try SilentServer()
        var options = ServerOptions()
        options.connectTimeout = .milliseconds(300)
        for place in ["127.0.0.1:\(silent.port)", "127.0.0.1:1"] {
            let began = ContinuousClock.now
            let location = try MySQLLocation(url: "mysql://relay:hunter2@\(place)/relay")
            let error = #expect(throws: SQLFailure.self) {
                _ = try MySQLConnection.open(location, options: options)
            }
            #expect(error?.kind == .connectionLost)
            #expect(error?.mayBeDone == false)
            #expect(error?.error.isTransient == true)
            #expect(error?.error.logDetail.contains("hunter2") == false)
            #expect(ContinuousClock.now - began < .seconds(30))
        }
    }
}

/// A port on which the kernel accepts connections but nothing ever responds.
private final class SilentServer {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                relay_bind(descriptor, $0, length) | listen(descriptor, 8)
                    | relay_getsockname(descriptor, $0, &length)
            }
        }
        guard status == 0 else { throw Failure(code: errno) }
        port = UInt16(bigEndian: address.sin_port)
    }

    struct Failure: Error {
        let code: Int32
    }

    deinit {
        close(descriptor)
    }
}
