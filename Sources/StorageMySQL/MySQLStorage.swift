package import Storage

/// The `Storage` contract on MySQL, MariaDB and what speaks their protocol.
package typealias MySQLStorage = ServerStorage<MySQLConnection>
