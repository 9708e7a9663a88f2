/// The schema's migration steps, in order; the raw value is the version that the database has after the step.
///
/// A step adds the tables and columns that ``SchemaTable/all`` marks with it. A released step is never
/// edited: later changes are new steps, which can add tables and columns.
package enum SchemaStep: Int, CaseIterable, Sendable {
    /// Every table: created, or adopted from OpenCode's relay.
    case baseline = 1
    /// Web Push subscriptions, and the keys shared by all relays that use a database.
    case webPush = 2
    /// Log rows that each cover several pushes.
    case sharedLogRows = 3
    /// Access tokens.
    case accessTokens = 4
    /// Log rows that contain their event's ID.
    case loggedEvents = 5

    /// What the step does, for `relay migrate`.
    package var summary: String {
        switch self {
        case .baseline: "all tables; adopts those of the OpenCode relay"
        case .webPush: "Web Push subscriptions; keys that relays share"
        case .sharedLogRows: "delivery log rows for several pushes"
        case .accessTokens: "access tokens"
        case .loggedEvents: "event IDs in the delivery log"
        }
    }

    /// The version that this program needs.
    package static var current: Int { allCases.last?.rawValue ?? 0 }

    /// Selects the schema's version; requires the table `relay_schema`.
    package static let versionQuery = "SELECT coalesce(max(version), 0) FROM relay_schema"

    /// Counts records of a first step applied by a build before the first release; see `StorageError.unreleased`.
    package static let countUnreleased =
        "SELECT count(*) FROM relay_schema WHERE version = 1 AND summary <> '\(baseline.summary)'"

    /// The steps that a database at `version` still needs; throws `schemaTooNew` if a newer program has used it.
    package static func pending(after version: Int) throws(StorageError) -> [SchemaStep] {
        guard version <= current else { throw .schemaTooNew(found: version, known: current) }
        return allCases.filter { $0.rawValue > version }
    }
}

extension StorageError {
    /// The error for a database created by a build before the first release.
    package static let unreleased = StorageError.foreignDatabase(
        logDetail: "it was made by an unreleased build of the relay; start with an empty database")
}
