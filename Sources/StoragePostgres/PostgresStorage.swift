package import Storage

/// The `Storage` contract on PostgreSQL and compatible servers.
///
/// ```swift
/// // Such as postgres://relay@db.example.org/relay?sslmode=verify-full
/// let location = try PostgresLocation(url: url)
/// var options = ServerOptions()
/// options.connectionsMax = 4
/// let storage = try await PostgresStorage.open(location, options: options)
/// ```
package typealias PostgresStorage = ServerStorage<PostgresConnection>
