package import Storage

/// The `Storage` contract on MySQL, MariaDB and compatible servers.
///
/// ```swift
/// // Such as mysql://relay@db.example.org/relay?ssl-mode=verify-identity
/// let location = try MySQLLocation(url: url)
/// var options = ServerOptions()
/// options.connectionsMax = 4
/// let storage = try await MySQLStorage.open(location, options: options)
/// ```
package typealias MySQLStorage = ServerStorage<MySQLConnection>
