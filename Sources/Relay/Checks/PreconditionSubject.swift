import Network
import Programs
import Storage

/// The input of precondition tests: the settings of `relay serve` and facts about the machine.
struct PreconditionSubject: Sendable {
    /// The configuration problems; if there are any, the other settings may be incomplete.
    var problems: [String] = []
    var server: ServerConfiguration?
    var servers: APNsServers?
    var apps: Apps?
    var webPush: WebPushConfiguration?
    var database = PreconditionDatabase.none
    var clock = WallClock.system
    /// Whether this is `relay check`.
    ///
    /// If so, a relay may already be running and using what a new one would need.
    var isCheck = false
    /// Whether a relay answers on the configured address.
    var relayRuns = false

    /// The input for `relay serve`, before it opens anything.
    init(_ configuration: ServeConfiguration) {
        server = configuration.server
        servers = configuration.apns.servers
        apps = configuration.apns.apps
        webPush = configuration.webPush
    }

    /// The input for `relay check`.
    init(
        _ configuration: CheckConfiguration, _ database: PreconditionDatabase, clock: WallClock,
        relayRuns: Bool
    ) {
        problems = configuration.problems
        server = configuration.server
        servers = configuration.servers
        apps = configuration.apps
        webPush = configuration.webPush
        self.database = database
        self.clock = clock
        isCheck = true
        self.relayRuns = relayRuns
    }
}

/// The database as a precondition: `relay check` inspects it, `relay serve` opens it.
enum PreconditionDatabase: Sendable {
    /// No database to test.
    case none
    /// An inspection that changes nothing.
    case look(DatabaseCheck.Look)
    /// The opened database.
    case opened(WriteWatch)

    /// Whether the database can be opened with a current schema.
    func findings(relayRuns: Bool) async -> [CheckFinding] {
        switch self {
        case .none, .opened: []
        case .look(let look): await look.found().openingFindings(relayRuns: relayRuns)
        }
    }

    /// Whether rows can be written.
    func writeFindings() async -> [CheckFinding] {
        switch self {
        case .none: []
        case .look(let look): await look.found().writeFindings
        case .opened(let writes):
            await writes.fault().map { [DatabaseCheck.finding($0, place: "write", nil)] } ?? []
        }
    }
}
