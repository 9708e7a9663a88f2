package import Storage

/// The tables of OpenCode's relay, which a database may contain.
package enum OpenCodeTables {
    /// The tables' names, types and indices, as valid in SQLite and Postgres.
    package static let statements = [
        """
        CREATE TABLE device_registration (
            id varchar(36) PRIMARY KEY NOT NULL, secret_hash varchar(64) NOT NULL,
            device_token varchar(255) NOT NULL, bundle_id varchar(255) NOT NULL,
            apns_env varchar(16) NOT NULL DEFAULT 'production', created_at bigint NOT NULL,
            updated_at bigint NOT NULL)
        """,
        """
        CREATE UNIQUE INDEX device_registration_secret_token_idx
            ON device_registration (secret_hash, device_token)
        """,
        "CREATE INDEX device_registration_secret_hash_idx ON device_registration (secret_hash)",
        """
        CREATE TABLE delivery_log (
            id varchar(36) PRIMARY KEY NOT NULL, secret_hash varchar(64) NOT NULL,
            event_type varchar(32) NOT NULL, session_id varchar(255) NOT NULL, status varchar(16) NOT NULL,
            error varchar(1024), created_at bigint NOT NULL)
        """,
        "CREATE INDEX delivery_log_secret_hash_idx ON delivery_log (secret_hash)",
        "CREATE INDEX delivery_log_created_at_idx ON delivery_log (created_at)",
    ]

    /// Stores rows on a server as OpenCode's relay did.
    package static func fill(
        _ connection: some SQLConnection, devices: [Device], deliveries: [Delivery]
    ) throws(SQLFailure) {
        for device in devices {
            _ = try connection.execute(
                "INSERT INTO device_registration VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    .text(device.id), .hash(device.secretHash), .text(device.token), .text(device.bundleID),
                    .text(device.environment.rawValue), .integer(device.createdAt),
                    .integer(device.updatedAt),
                ])
        }
        for delivery in deliveries {
            _ = try connection.execute(
                "INSERT INTO delivery_log VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    .text(delivery.id), .hash(delivery.secretHash), .text(delivery.eventType),
                    .text(delivery.sessionID), .text(delivery.status.rawValue), .text(delivery.error),
                    .integer(delivery.createdAt),
                ])
        }
    }
}
