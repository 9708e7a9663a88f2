import APNs
import Network
import Programs
import Storage

/// The configuration of `relay serve`: all settings, validated before anything is opened.
struct ServeConfiguration: Sendable {
    var server: ServerConfiguration
    var database: DatabaseURL
    var databaseServer: DatabaseServerConfiguration
    var apns: APNsConfiguration
    /// The Web Push settings; `nil` if the relay doesn't use Web Push.
    var webPush: WebPushConfiguration?
    var delivery: DeliveryConfiguration
    var log: LogConfiguration
    /// Where traces are exported; `nil` if tracing is off.
    var traces: Tracer.Options?
    /// The settings as they were given, in the order of ``Settings/table``, without secrets.
    let inForce: [SettingInForce]

    /// Reads all settings.
    ///
    /// - Throws: ``ConfigurationError`` with all problems, not just the first.
    init(_ sources: SettingSources) throws(ConfigurationError) {
        var reader = SettingReader(sources)
        server = ServerConfiguration(&reader)
        database = reader.read(Settings.databaseURL)
        databaseServer = DatabaseServerConfiguration(&reader)
        webPush = WebPushConfiguration(&reader)
        let apns = APNsConfiguration(&reader, isOptional: webPush != nil)
        if let app = server.openChamberApp, let known = apns?.apps.bundleIDs, !known.contains(app) {
            reader.note("RELAY_OPENCHAMBER_BUNDLE_ID is not among the apps that this relay pushes to")
        }
        delivery = DeliveryConfiguration(&reader)
        log = LogConfiguration(&reader)
        log.allowsCoreDumps = reader.read(Settings.coreDumps) == .yes
        traces = Tracer.Options(&reader)
        reader.noteUnknownNames()
        guard let apns, reader.problems.isEmpty else {
            throw ConfigurationError(reader.problems, command: "relay serve")
        }
        self.apns = apns
        let read = reader.inForce
        inForce = Settings.served.compactMap { row in read.first { $0.row == row } }
    }
}

/// Limits for using a database server.
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

/// The configuration of `relay migrate`, `backup` and `restore`.
struct MigrateConfiguration: Sendable {
    var database: DatabaseURL
    var log: LogConfiguration

    /// Reads the settings of a command that has no others; see ``ServeConfiguration``.
    init(_ sources: SettingSources, command: String = "migrate") throws(ConfigurationError) {
        var reader = SettingReader(sources)
        database = reader.read(Settings.databaseURL)
        log = LogConfiguration(&reader)
        reader.noteUnknownNames()
        guard reader.problems.isEmpty else {
            throw ConfigurationError(reader.problems, command: "relay \(command)")
        }
    }
}

/// The configuration of `relay health`: the address of the relay to query.
struct HealthConfiguration: Sendable, Equatable {
    var port: UInt16
    var host: String
    var isTLS: Bool

    /// Reads the settings of this command; see ``ServeConfiguration``.
    init(_ sources: SettingSources) throws(ConfigurationError) {
        var reader = SettingReader(sources)
        self.init(&reader)
        guard reader.problems.isEmpty else {
            throw ConfigurationError(reader.problems, command: "relay health")
        }
    }

    /// Reads the settings as part of another command's settings.
    init(_ reader: inout SettingReader) {
        port = UInt16(reader.read(Settings.port))
        host = reader.read(Settings.host)
        isTLS = TLSConfiguration(&reader) != nil
        if port == 0 { reader.note("PORT is 0, so the relay's port is unknown") }
    }

    /// Creates an address from its parts.
    init(port: UInt16, host: String, isTLS: Bool) {
        self.port = port
        self.host = host
        self.isTLS = isTLS
    }

    /// The URL of a path on the relay; uses the loopback address if the relay listens on all addresses.
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

/// Settings for client connections.
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
    /// The web pages that may use the relay.
    var webOrigins: WebOrigins
    /// Whether the relay serves the web page.
    var servesPage: Bool
    /// Whether senders made for other relays are supported.
    var hasDoors: Bool
    /// The app that OpenChamber's servers can notify; `nil` for none.
    var openChamberApp: Topic?

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
        webOrigins = WebOrigins(listed: Set(reader.read(Settings.webOrigins) ?? []))
        servesPage = reader.read(Settings.page) == .on
        hasDoors = reader.read(Settings.doors) == .on
        openChamberApp = reader.read(Settings.openChamberBundleID)
    }
}

/// The files of the relay's own certificate.
struct TLSConfiguration: Sendable, Equatable {
    var certificateFile: String
    var keyFile: String

    /// Both files; `nil` unless both are set, with a problem noted if only one is set.
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

/// Limits for registrations and events.
struct DeliveryConfiguration: Sendable {
    var secretBytesMin: Int
    var hasher: SecretHasher
    var registration: RegistrationPolicy
    var devicesPerSecretMax: Int
    var schedulesPerSecretMax: Int
    var devicesMax: Int
    var eventDeadline: Duration
    var pushesPerEventMax: Int
    var pushesMax: Int
    var queueMax: Int
    var queueMebibytesMax: Int
    var queuePerSecretMax: Int
    var retryDelayMax: Duration
    var readyQueueAge: Duration
    var loggedDeliveries: LoggedDeliveries
    var logRetention: Duration
    /// How long a device may go without registering; `nil` for no limit.
    var deviceLifetime: Duration?
    var activityInterval: Duration
    /// The history's options; `nil` if no history is kept.
    var history: History.Options?
    var eventsPerMinute: Int
    var registrationsPerMinute: Int
    var unknownSecretsPerMinute: Int
    var devicePushesPerMinute: Int
    var deviceSecretsPerDay: Int

    init(_ reader: inout SettingReader) {
        secretBytesMin = reader.read(Settings.secretBytesMin)
        hasher = SecretHasher(&reader)
        registration = RegistrationPolicy(&reader, hasher: hasher)
        devicesPerSecretMax = reader.read(Settings.devicesPerSecretMax)
        schedulesPerSecretMax = reader.read(Settings.schedulesPerSecretMax)
        devicesMax = reader.read(Settings.devicesMax)
        eventDeadline = reader.read(Settings.eventDeadline)
        pushesPerEventMax = reader.read(Settings.pushesPerEventMax)
        pushesMax = reader.read(Settings.pushesMax)
        queueMax = reader.read(Settings.queueMax)
        queueMebibytesMax = reader.read(Settings.queueMebibytesMax)
        queuePerSecretMax = reader.read(Settings.queuePerSecretMax)
        retryDelayMax = reader.read(Settings.retryDelayMax)
        readyQueueAge = reader.read(Settings.readyQueueAge)
        loggedDeliveries = reader.read(Settings.loggedDeliveries)
        logRetention = reader.read(Settings.logRetention)
        let deviceDays = reader.read(Settings.deviceDays)
        deviceLifetime = deviceDays > 0 ? .seconds(deviceDays * 86_400) : nil
        activityInterval = reader.read(Settings.activityInterval)
        history = History.Options(&reader)
        eventsPerMinute = reader.read(Settings.eventsPerMinute)
        registrationsPerMinute = reader.read(Settings.registrationsPerMinute)
        unknownSecretsPerMinute = reader.read(Settings.unknownSecretsPerMinute)
        devicePushesPerMinute = reader.read(Settings.devicePushesPerMinute)
        deviceSecretsPerDay = reader.read(Settings.deviceSecretsPerDay)
    }
}

extension History.Options {
    /// The history's lifetime and content; `nil` if no history is kept.
    fileprivate init?(_ reader: inout SettingReader) {
        let days = reader.read(Settings.historyDays)
        let keepsText = reader.read(Settings.historyText) == .on
        guard days > 0 else {
            if keepsText {
                reader.note("RELAY_HISTORY_TEXT is on, but RELAY_HISTORY_DAYS is 0: no history is kept")
            }
            return nil
        }
        self.init(lifetime: .seconds(days * 86_400), keepsText: keepsText)
    }
}

/// Logging settings.
struct LogConfiguration: Sendable {
    var level: LogLevel
    /// The format; if `nil`, text if standard error is a terminal, otherwise JSON.
    var format: LogFormat?
    var allowsCoreDumps = false

    init(_ reader: inout SettingReader) {
        level = reader.read(Settings.logLevel)
        format = reader.read(Settings.logFormat)
    }
}
