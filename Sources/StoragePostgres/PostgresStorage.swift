package import Storage

/// The `Storage` contract on PostgreSQL and what speaks its protocol.
package typealias PostgresStorage = ServerStorage<PostgresConnection>
