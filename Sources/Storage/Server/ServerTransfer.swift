/// One side of a copy in a database server.
package enum ServerTransfer<Connection: ServerConnection> {
    /// How long a statement may take: counting a large table reads all of it.
    private static var statementTime: Duration { .seconds(600) }

    /// The database at a location; its schema must be current unless the database is only read.
    ///
    /// - Parameter access: `readOnly` for the source.
    package static func side(
        _ location: Connection.Location, access: ServerOptions.Access
    ) -> TransferSide<Connection> {
        var options = ServerOptions()
        options.access = access
        // The server's own statement timeout is derived from this.
        options.callTimeout = statementTime
        return TransferSide(statementTime: statementTime) {
            [options] () throws(StorageError) in
            let pending = try await ServerStorage<Connection>.pendingSteps(at: location, options: options)
            return (pending.first?.step.rawValue ?? SchemaStep.current + 1) - 1
        } open: { [options] () throws(StorageError) in
            do throws(SQLFailure) {
                return try Connection.open(location, options: options)
            } catch {
                throw error.error
            }
        }
    }
}
