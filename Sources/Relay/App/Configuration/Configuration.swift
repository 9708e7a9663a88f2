import APNs
import Network
import Storage

/// What `relay serve` runs with: every setting read, checked and typed, before anything is opened.
struct ServeConfiguration: Sendable {
    var server: ServerConfiguration
    var database: DatabaseURL
    var databaseServer: DatabaseServerConfiguration
    var apns: APNsConfiguration
    var delivery: DeliveryConfiguration
    var log: LogConfiguration

    /// Reads all settings.
    ///
    /// - Throws: ``ConfigurationProblems`` with everything that is wrong, not the first thing only.
    init(_ sources: SettingSources) throws(ConfigurationProblems) {
        var reader = SettingReader(sources)
        server = ServerConfiguration(&reader)
        database = reader.read(Settings.databaseURL)
        databaseServer = DatabaseServerConfiguration(&reader)
        let apns = APNsConfiguration(&reader)
        delivery = DeliveryConfiguration(&reader)
        log = LogConfiguration(&reader)
        reader.noteUnknownNames()
        guard let apns, reader.problems.isEmpty else {
            throw ConfigurationProblems(reader.problems, user: .serve)
        }
        self.apns = apns
    }
}

/// The bounds of a database server's use.
struct DatabaseServerConfiguration: Sendable {
    var options: ServerOptions
    var startDeadline: Duration

    init(_ reader: inout SettingReader) {
        options = ServerOptions()
        options.connectionsMax = reader.read(Settings.databaseConnections)
        options.callTimeout = reader.read(Settings.databaseTimeout)
        startDeadline = reader.read(Settings.databaseStartDeadline)
    }
}

/// What `relay migrate` runs with.
struct MigrateConfiguration: Sendable {
    var database: DatabaseURL
    var log: LogConfiguration

    /// Reads the settings of this command; see ``ServeConfiguration``.
    init(_ sources: SettingSources) throws(ConfigurationProblems) {
        var reader = SettingReader(sources)
        database = reader.read(Settings.databaseURL)
        log = LogConfiguration(&reader)
        reader.noteUnknownNames()
        guard reader.problems.isEmpty else { throw ConfigurationProblems(reader.problems, user: .migrate) }
    }
}

/// What `relay health` runs with: where the relay that it asks listens.
struct HealthConfiguration: Sendable, Equatable {
    var port: UInt16
    var host: String
    var isTLS: Bool

    /// Reads the settings of this command; see ``ServeConfiguration``.
    init(_ sources: SettingSources) throws(ConfigurationProblems) {
        var reader = SettingReader(sources)
        self.init(&reader)
        guard reader.problems.isEmpty else { throw ConfigurationProblems(reader.problems, user: .health) }
    }

    /// Reads the settings among those of another command.
    init(_ reader: inout SettingReader) {
        port = UInt16(reader.read(Settings.port))
        host = reader.read(Settings.host)
        isTLS = TLSConfiguration(&reader) != nil
        if port == 0 { reader.note("PORT is 0: which port the relay was given can't be known") }
    }

    /// A place of its parts.
    init(port: UInt16, host: String, isTLS: Bool) {
        self.port = port
        self.host = host
        self.isTLS = isTLS
    }

    /// The URL of a path there: on this machine where the relay listens on every address.
    func url(_ path: String) -> String {
        let reachable =
            switch SocketAddress(ip: host, port: port)?.host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "::1"
            default: host
            }
        return "\(isTLS ? "https" : "http")://\(Endpoint(host: reachable, port: port))\(path)"
    }
}

/// Everything that is wrong with the configuration, as one message.
struct ConfigurationProblems: Error, Equatable, CustomStringConvertible {
    /// A sentence each, none of them with a secret in it.
    let problems: [String]
    /// The command whose help says more.
    let user: SettingUser

    /// Wraps problems, of which there is at least one.
    init(_ problems: [String], user: SettingUser) {
        self.problems = problems
        self.user = user
    }

    /// All problems, a line each.
    var description: String {
        let count = problems.count == 1 ? "a problem" : "\(problems.count) problems"
        let lines = problems.map { "  - \($0)" }.joined(separator: "\n")
        return "\(count) with the configuration:\n\(lines)\nSee relay \(user.rawValue) --help."
    }
}

/// How clients reach the relay.
struct ServerConfiguration: Sendable {
    var port: UInt16
    var host: String
    var adminListen: ListenAddress
    var loops: Int?
    var connectionsMax: Int
    var connectionsPerAddressMax: Int
    var trustedProxies: TrustedProxies
    var headDeadline: Duration
    var bodyDeadline: Duration
    var idleTimeout: Duration
    var shutdownDeadline: Duration
    var tls: TLSConfiguration?
    var tlsHandshakeDeadline: Duration

    init(_ reader: inout SettingReader) {
        port = UInt16(reader.read(Settings.port))
        host = reader.read(Settings.host)
        adminListen = reader.read(Settings.adminListen)
        loops = reader.read(Settings.loops)
        connectionsMax = reader.read(Settings.connectionsMax)
        connectionsPerAddressMax = reader.read(Settings.connectionsPerAddressMax)
        trustedProxies = TrustedProxies(reader.read(Settings.trustedProxies) ?? [])
        headDeadline = reader.read(Settings.headDeadline)
        bodyDeadline = reader.read(Settings.bodyDeadline)
        idleTimeout = reader.read(Settings.idleTimeout)
        shutdownDeadline = reader.read(Settings.shutdownDeadline)
        tls = TLSConfiguration(&reader)
        tlsHandshakeDeadline = reader.read(Settings.tlsHandshakeDeadline)
    }
}

/// The files of the relay's own certificate.
struct TLSConfiguration: Sendable, Equatable {
    var certificateFile: String
    var keyFile: String

    /// Both files, or `nil` without either; half of the pair is noted as a problem.
    init?(_ reader: inout SettingReader) {
        let certificate = reader.read(Settings.tlsCertFile)
        let key = reader.read(Settings.tlsKeyFile)
        switch (certificate, key) {
        case (let certificate?, let key?):
            certificateFile = certificate
            keyFile = key
        case (nil, nil):
            return nil
        case (_?, nil):
            reader.note("RELAY_TLS_CERT_FILE is set without RELAY_TLS_KEY_FILE; TLS needs both")
            return nil
        case (nil, _?):
            reader.note("RELAY_TLS_KEY_FILE is set without RELAY_TLS_CERT_FILE; TLS needs both")
            return nil
        }
    }
}

/// APNs' servers, and how they are used.
struct APNsServers: Sendable {
    var production: APNsOrigin
    var sandbox: APNsOrigin
    var caFile: String?
    var connectionsMax: Int
    var connectTimeout: Duration
    var pushTimeout: Duration

    init(_ reader: inout SettingReader) {
        production = reader.read(Settings.productionURL)
        sandbox = reader.read(Settings.sandboxURL)
        caFile = reader.read(Settings.caFile)
        connectionsMax = reader.read(Settings.apnsConnectionsMax)
        connectTimeout = reader.read(Settings.connectTimeout)
        pushTimeout = reader.read(Settings.pushTimeout)
    }

    /// The server of an environment.
    func origin(of environment: Environment) -> APNsOrigin {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }
}

/// The apps that are pushed to, and where they are described.
struct APNsConfiguration: Sendable {
    /// The apps with their keys.
    var apps: Apps
    /// Where the apps stand, to be read again; `nil` when the settings describe one.
    var appsFile: String?
    var servers: APNsServers

    /// Reads all of it; `nil` when the apps are not there or not whole, which is noted as problems.
    init?(_ reader: inout SettingReader) {
        self.init(servers: APNsServers(&reader), &reader)
    }

    /// Reads the apps, where the servers were read before.
    init?(servers: APNsServers, _ reader: inout SettingReader) {
        self.servers = servers
        appsFile = reader.read(Settings.appsFile)
        let single = Self.singleApp(&reader, isWanted: !reader.isGiven(Settings.appsFile.row))
        guard let apps = appsFile.map({ Self.apps(of: $0, &reader) }) ?? single else { return nil }
        self.apps = apps
    }

    /// The apps of the file; what describes a single app beside it is noted as a problem.
    private static func apps(of path: String, _ reader: inout SettingReader) -> Apps? {
        let rows = [
            Settings.teamID.row, Settings.keyID.row, Settings.privateKey.row, Settings.defaultBundleID.row,
            Settings.bundleIDs.row, Settings.sound.row, Settings.timeToLive.row,
        ]
        let given = rows.filter { reader.isGiven($0) }.map(\.name)
        if !given.isEmpty {
            let list = given.joined(separator: ", ")
            reader.note(
                "APNS_APPS_FILE describes the apps and \(list) \(given.count == 1 ? "describes" : "describe") "
                    + "one; unset either")
        }
        switch AppsFile.read(path, readFile: reader.readFile) {
        case .success(let apps): return apps
        case .failure(let problems):
            for problem in problems.all { reader.note("APNS_APPS_FILE: \(problem)") }
            return nil
        }
    }

    /// The one app that the settings describe.
    ///
    /// - Parameter isWanted: Whether what is missing is a problem.
    private static func singleApp(_ reader: inout SettingReader, isWanted: Bool) -> Apps? {
        let defaultBundleID = reader.read(Settings.defaultBundleID)
        let bundleIDs = reader.read(Settings.bundleIDs)
        if let bundleIDs, let defaultBundleID, !bundleIDs.contains(defaultBundleID) {
            reader.note("APNS_DEFAULT_BUNDLE_ID is not among APNS_BUNDLE_IDS")
        }
        let sound = reader.read(Settings.sound)
        let timeToLive = reader.read(Settings.timeToLive)
        let teamID = reader.read(Settings.teamID)
        let keyID = reader.read(Settings.keyID)
        let privateKey = reader.read(Settings.privateKey)
        if isWanted { noteMissing(&reader) }
        // Each part was checked when it was read.
        guard let teamID, let keyID, let privateKey,
            let key = try? AppKey(teamID: teamID, keyID: keyID, text: privateKey)
        else { return nil }
        let push = PushSettings(sound: sound == "none" ? nil : sound, timeToLive: timeToLive)
        return Apps(
            single: PushApp(key: key, push: push), defaultBundleID: defaultBundleID, bundleIDs: bundleIDs)
    }

    private static func noteMissing(_ reader: inout SettingReader) {
        let rows = [Settings.teamID.row, Settings.keyID.row, Settings.privateKey.row]
        let missing = rows.filter { !reader.isGiven($0) }.map(\.name)
        guard !missing.isEmpty else { return }
        guard missing.count < rows.count else {
            reader.note(
                "no APNs key: set APNS_TEAM_ID, APNS_KEY_ID and APNS_PRIVATE_KEY (or APNS_PRIVATE_KEY_FILE); "
                    + "./dev run tries the relay without one, against a simulator")
            return
        }
        let list = missing.joined(separator: " and ")
        reader.note(
            "\(list) \(missing.count == 1 ? "is" : "are") not set; "
                + "APNS_TEAM_ID, APNS_KEY_ID and APNS_PRIVATE_KEY belong together")
    }
}

/// The bounds of registrations and events.
struct DeliveryConfiguration: Sendable {
    var secretBytesMin: Int
    var hasher: SecretHasher
    var devicesPerSecretMax: Int
    var eventDeadline: Duration
    var pushesPerEventMax: Int
    var pushesMax: Int
    var queueMax: Int
    var queuePerSecretMax: Int
    var retryDelayMax: Duration
    var readyQueueAge: Duration
    var logRetention: Duration
    var eventsPerMinute: Int
    var registrationsPerMinute: Int
    var unknownSecretsPerMinute: Int

    init(_ reader: inout SettingReader) {
        secretBytesMin = reader.read(Settings.secretBytesMin)
        hasher = SecretHasher(&reader)
        devicesPerSecretMax = reader.read(Settings.devicesPerSecretMax)
        eventDeadline = reader.read(Settings.eventDeadline)
        pushesPerEventMax = reader.read(Settings.pushesPerEventMax)
        pushesMax = reader.read(Settings.pushesMax)
        queueMax = reader.read(Settings.queueMax)
        queuePerSecretMax = reader.read(Settings.queuePerSecretMax)
        retryDelayMax = reader.read(Settings.retryDelayMax)
        readyQueueAge = reader.read(Settings.readyQueueAge)
        logRetention = reader.read(Settings.logRetention)
        eventsPerMinute = reader.read(Settings.eventsPerMinute)
        registrationsPerMinute = reader.read(Settings.registrationsPerMinute)
        unknownSecretsPerMinute = reader.read(Settings.unknownSecretsPerMinute)
    }
}

/// What is logged and how.
struct LogConfiguration: Sendable {
    var level: LogLevel
    /// `nil`: text when standard error is a terminal, JSON otherwise.
    var format: LogFormat?

    init(_ reader: inout SettingReader) {
        level = reader.read(Settings.logLevel)
        format = reader.read(Settings.logFormat)
    }
}
