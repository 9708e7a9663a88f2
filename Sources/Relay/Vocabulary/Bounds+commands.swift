/// Limits for the commands.
extension Bounds {
    // MARK: relay health

    /// Timeout for the whole request: connecting, TLS, and the first bytes of the response.
    static let healthDeadline: Duration = .seconds(3)

    // MARK: relay check

    /// Timeout for all checks together; those without a result by then are reported as too slow.
    static let checkDeadline: Duration = .seconds(60)
    /// Timeout for each step (a connection, a push, a database call), unless a setting specifies a shorter one.
    static let checkStepDeadline: Duration = .seconds(10)
    /// Maximum keys tested per environment.
    static let checkKeysMax = 20
    /// Maximum bundle IDs tested per key.
    static let checkTopicsMax = 20
    /// Maximum devices per secret that are listed and sent a push.
    static let checkDevicesMax = 50
    /// Maximum devices whose preferences `relay check` reads.
    static let checkPreferencesMax = 100_000
    /// Maximum devices whose preferences `relay check` reads at a time.
    static let checkPreferencesPerStep = 1_000
    /// Maximum time zone names that a finding lists.
    static let checkZonesMax = 5
    /// Clock skew that causes a warning.
    static let checkClockSkewNoticed: Duration = .seconds(30)
    /// Clock skew that counts as a failure.
    static let checkClockSkewMax: Duration = .seconds(300)
    /// Minimum free bytes on a file's disk.
    static let checkDiskBytesMin: Int64 = 16 * 1_048_576
    /// Free bytes on a file's disk below which `relay check` warns.
    static let checkDiskBytesNoticed: Int64 = 512 * 1_048_576
    /// `relay check` warns when a certificate expires within this many days.
    static let checkCertificateDaysNoticed: Int64 = 21

    // MARK: relay send

    /// Timeout from resolving the relay's name to the end of its response; exceeds the longest event deadline.
    static let sendDeadline: Duration = .seconds(320)
    /// Maximum size of a relay's response that a command reads, in bytes.
    static let commandAnswerBytesMax = 1 << 20

    // MARK: Commands for people

    /// Maximum connections to a database server per command.
    static let commandConnectionsMax = 2
    /// The default number of rows that a command shows.
    static let rowsShownDefault = 50
    /// The maximum number of rows that a command shows.
    static let rowsShownMax = 10_000
    /// How often a followed log is polled.
    static let followInterval: Duration = .seconds(1)
    /// Maximum pages of new rows in one poll; any more rows are skipped.
    static let followPagesMax = 20
    /// The default number of days that `relay stats` counts.
    static let statsDaysDefault = 7
    /// The maximum number of days that `relay stats` counts.
    static let statsDaysMax = 400
    /// Delivery log rows counted per statement.
    static let statsRowsPerStep = 10_000
    /// Maximum distinct failure reasons counted per day; all others are counted together.
    static let statsReasonsMax = 100
    /// Maximum failure reasons shown in a day's line.
    static let statsReasonsShown = 3
    /// Maximum hashes listed if a prefix matches several.
    static let hashCandidatesMax = 10
    /// Maximum tenants read per statement.
    static let tenantsPerStep = 1_000
    /// Maximum queued pushes counted; a higher number is reported as at least this many.
    static let waitingCountedMax = 1_000_000
    /// How long a command waits for a SQLite file's write lock before it turns to the running relay.
    static let commandLockTimeout: Duration = .milliseconds(300)
    /// Rows of each table removed per transaction when a secret is revoked.
    static let revokeRowsPerStep = 500
    /// Timeout for a change that a command requests from the running relay.
    static let relayChangeDeadline: Duration = .seconds(60)
}
