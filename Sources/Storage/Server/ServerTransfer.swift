/// A database server as one side of a copy.
package enum ServerTransfer<Connection: ServerConnection> {
    /// The database at a location, opened only for reading.
    package static func source(_ location: Connection.Location) throws(StorageError) -> TransferSide {
        let connection = try open(location, access: .readOnly)
        let state: SchemaState
        do throws(SQLFailure) {
            state = try ServerSchema(connection: connection).inspect()
        } catch {
            throw error.error
        }
        return try TransferSide(source: connection, state: state)
    }

    /// The database at a location, with its schema brought up to date.
    package static func target(_ location: Connection.Location) throws(StorageError) -> TransferSide {
        let connection = try open(location, access: .write)
        do throws(SQLFailure) {
            _ = try ServerSchema(connection: connection).migrate()
            return TransferSide(connection)
        } catch {
            throw error.error
        }
    }

    private static func open(
        _ location: Connection.Location, access: ServerOptions.Access
    ) throws(StorageError) -> Connection {
        var options = ServerOptions()
        options.access = access
        // The server's own statement timeout is derived from this option.
        options.callTimeout = TransferSide.statementTime
        do throws(SQLFailure) {
            let connection = try Connection.open(location, options: options)
            connection.deadline = .now + options.migrationTimeout
            return connection
        } catch {
            throw error.error
        }
    }
}
