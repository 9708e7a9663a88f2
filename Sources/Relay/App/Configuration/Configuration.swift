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
    var adminAccess: AdminGuard
    var loops: Int?
    var connectionsMax: Int
    var connectionsPerAddressMax: Int
    var connectionsMemoryMiB: Int
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
        adminAccess = AdminGuard(
            hosts: Set((reader.read(Settings.adminHosts) ?? []).map(AdminGuard.name(in:))),
            token: reader.read(Settings.adminToken))
        loops = reader.read(Settings.loops)
        connectionsMax = reader.read(Settings.connectionsMax)
        connectionsPerAddressMax = reader.read(Settings.connectionsPerAddressMax)
        connectionsMemoryMiB = reader.read(Settings.connectionsMemory)
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
