import ChildProcess
import Foundation
import Storage
import StorageMySQL
import Testing

/// The three nodes that `Tests/Support/databases run --servers galera` starts.
enum GaleraCluster {
    static let url = ProcessInfo.processInfo.environment["RELAY_TEST_GALERA_URL"]
    static let directory = ProcessInfo.processInfo.environment["RELAY_TEST_DATABASES"] ?? ""

    static func location(database: String) throws -> MySQLLocation {
        let url = try #require(url)
        return try MySQLLocation(url: try url[...#require(url.lastIndex(of: "/"))] + database)
    }

    /// The same account and database, at only one node.
    static func location(database: String, host: MySQLLocation.Host) throws -> MySQLLocation {
        let all = try location(database: database)
        let password = try #require(all.password.map { String(decoding: $0.bytes, as: UTF8.self) })
        return try MySQLLocation(url: "mysql://\(all.user):\(password)@\(host.name):\(host.port)/\(database)")
    }

    /// Kills a node as the loss of its machine would.
    static func kill(_ node: String) throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Support/databases")
        let result = try ChildProcess.run(script.path, ["kill", directory, node])
        try #require(result.status == 0, "\(result.errors)")
    }
}
