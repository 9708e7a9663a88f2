/// The state of a database's tables.
package enum SchemaState: Equatable {
    /// The database has none of the relay's tables.
    case empty
    /// The database has the two tables of OpenCode's relay, which haven't been adopted yet.
    case adoptable
    /// The database belongs to this relay and has this schema version.
    case relay(version: Int)

    /// The version after which steps are applied; adopting starts with the first step.
    package var version: Int {
        switch self {
        case .empty, .adoptable: 0
        case .relay(let version): version
        }
    }

    /// The columns of OpenCode's tables, which the relay adopts.
    package static let adoptedColumns: [String: Set<String>] = [
        "device_registration": [
            "id", "secret_hash", "device_token", "bundle_id", "apns_env", "created_at", "updated_at",
        ],
        "delivery_log": [
            "id", "secret_hash", "event_type", "session_id", "status", "error", "created_at",
        ],
    ]
}
