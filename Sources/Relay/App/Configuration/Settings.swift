/// Every setting of the relay.
///
/// From this table come the parsing of the environment and of flags, `--help` and docs/CONFIGURATION.md.
enum Settings {
    /// The whole table, chapter by chapter, in the order in which it is documented.
    static let table: [SettingRow] = [
        port.row, host.row, adminListen.row, adminHosts.row, adminToken.row, loops.row, connectionsMax.row,
        connectionsPerAddressMax.row, connectionsMemory.row, headDeadline.row, bodyDeadline.row,
        idleTimeout.row,
        shutdownDeadline.row,
        tlsCertFile.row, tlsKeyFile.row, tlsHandshakeDeadline.row,
        databaseURL.row, databaseConnections.row, databaseTimeout.row, databaseStartDeadline.row,
        copyFrom.row, copyTo.row, copyMerge.row,
        teamID.row, keyID.row, privateKey.row, defaultBundleID.row, bundleIDs.row,
        appsFile.row, productionURL.row, sandboxURL.row, caFile.row, sound.row, timeToLive.row,
        apnsConnectionsMax.row,
        connectTimeout.row, pushTimeout.row,
        secretBytesMin.row, secretPepper.row, secretPepperOther.row, devicesPerSecretMax.row,
        eventDeadline.row,
        pushesPerEventMax.row, pushesMax.row, queueMax.row, queuePerSecretMax.row, retryDelayMax.row,
        readyQueueAge.row, logRetention.row,
        eventsPerMinute.row, registrationsPerMinute.row, unknownSecretsPerMinute.row, trustedProxies.row,
        logLevel.row, logFormat.row,
        secret.row,
    ]

    /// The rows of one chapter that one command reads.
    static func rows(of group: SettingGroup, for user: SettingUser) -> [SettingRow] {
        table.filter { $0.group == group && $0.users.contains(user) }
    }

    // MARK: Server

    static let port = Setting(
        "PORT", .server, .integer(0...65535), default: 8787, users: [.serve, .send, .health],
        "The TCP port to listen on. 0 takes any free one; the first log line says which.")
    static let host = Setting(
        "HOST", .server, .address, default: "127.0.0.1", users: [.serve, .send, .health],
        "The address to listen on. 0.0.0.0 is every IPv4 address, :: every address.")
    static let adminListen = Setting(
        "RELAY_ADMIN_LISTEN", .server, .listenAddress, default: .defaultLoopback(port: 8788),
        users: [.serve, .revoke],
        "Where Prometheus finds /metrics; docs/METRICS.md. relay revoke asks there, too. Whoever reaches it sees counts of every app, so keep it from "
            + "strangers. Relays on one machine need a port each; port 0 takes any free one. "
            + "If the default is in use, the relay logs a warning and starts without it.")
    static let adminHosts = Setting(
        "RELAY_ADMIN_HOSTS", .server, optional: .hostNames,
        unset: "localhost, IP addresses, names without a dot",
        "Domain names under which the admin listener is asked, separated by commas. It refuses other domains, so that no "
            + "web page can read it by DNS rebinding.")
    static let adminToken = Setting(
        "RELAY_ADMIN_TOKEN", .server, optional: .adminToken, unset: "the admin listener asks for none",
        secret: true,
        users: [.serve, .revoke],
        "The bearer token for /metrics and relay revoke on the admin listener; /health and /ready need none.")
    static let loops = Setting(
        "RELAY_LOOPS", .server, optional: .integer(1...64), unset: "one per core, at most 8",
        "Event loops. Each is a thread with its own listener and its own connections to APNs.")
    static let connectionsMax = Setting(
        "RELAY_CONNECTIONS_MAX", .server, .integer(1...1_000_000), default: 16_384,
        "Open client connections. When the server is full, a new connection replaces the one that has been idle the longest."
    )
    static let connectionsPerAddressMax = Setting(
        "RELAY_CONNECTIONS_PER_ADDRESS_MAX", .server, .integer(1...1_000_000), default: 1024,
        "Open client connections from one address (an IPv6 /64 counts as one, a /48 as four). Further ones are answered 503. "
            + "Once half of RELAY_CONNECTIONS_MAX is in use the limit falls, down to 16 when the server is full. Trusted proxies "
            + "have no such limit.")
    static let connectionsMemory = Setting(
        "RELAY_CONNECTIONS_MEMORY_MIB", .server, .integer(1...1_048_576), default: 256,
        "Memory for all client connections, in MiB. Beyond it, connections that hold unfinished requests or unread answers are "
            + "closed, then idle ones.")
    static let headDeadline = Setting(
        "RELAY_HEAD_DEADLINE", .server, .duration(.milliseconds(100)...(.seconds(600))),
        default: .seconds(10),
        "From the first byte of a request to the end of its headers; a connection's first one counts from connecting."
    )
    static let bodyDeadline = Setting(
        "RELAY_BODY_DEADLINE", .server, .duration(.milliseconds(100)...(.seconds(600))),
        default: .seconds(20),
        "From the end of a request's headers to the end of its body.")
    static let idleTimeout = Setting(
        "RELAY_IDLE_TIMEOUT", .server, .duration(.milliseconds(100)...(.seconds(3600))),
        default: .seconds(75),
        "How long a connection may stay open without a request. A proxy in front should close earlier.")
    static let shutdownDeadline = Setting(
        "RELAY_SHUTDOWN_DEADLINE", .server, .duration(.milliseconds(100)...(.seconds(600))),
        default: .seconds(15),
        "After SIGTERM or SIGINT: how long what is in flight may take before it is cut off.")

    // MARK: TLS

    static let tlsCertFile = Setting(
        "RELAY_TLS_CERT_FILE", .tls, optional: .path, unset: "plain HTTP", users: [.serve, .send, .health],
        "The certificate chain in PEM. Set together with RELAY_TLS_KEY_FILE; SIGHUP reads both again.")
    static let tlsKeyFile = Setting(
        "RELAY_TLS_KEY_FILE", .tls, optional: .path, unset: "plain HTTP", users: [.serve, .send, .health],
        "The certificate's private key in PEM, without password.")
    static let tlsHandshakeDeadline = Setting(
        "RELAY_TLS_HANDSHAKE_DEADLINE", .tls, .duration(.milliseconds(100)...(.seconds(600))),
        default: .seconds(10), "How long a TLS handshake may take.")

    // MARK: Database

    static let databaseURL = Setting(
        "DATABASE_URL", .database, .database,
        default: .sqlite(path: "relay.db"),
        secret: true, users: [.serve, .migrate] + .inspecting,
        "Where registrations are kept; docs/DATABASES.md has all that can stand in it.")
    static let databaseConnections = Setting(
        "RELAY_DATABASE_CONNECTIONS", .database, .integer(1...256), default: 10,
        "Connections to a database server, each with a thread. They are opened when they are needed. SQLite has none."
    )
    static let databaseTimeout = Setting(
        "RELAY_DATABASE_TIMEOUT", .database, .duration(.milliseconds(100)...(.seconds(60))),
        default: .seconds(5), users: [.serve] + .inspecting,
        "How long a call to a database server may take in all. While the server is known to be down, calls fail at once."
    )
    static let databaseStartDeadline = Setting(
        "RELAY_DATABASE_START_DEADLINE", .database, .duration(.zero...(.seconds(3600))),
        default: .seconds(60),
        "How long the start waits for a database server that is down. After that the relay exits with status 69."
    )

    // MARK: APNs

    static let teamID = Setting(
        "APNS_TEAM_ID", .apns, optional: .appleIdentifier, unset: "required",
        "The team that owns the app: developer.apple.com, Membership.")
    static let keyID = Setting(
        "APNS_KEY_ID", .apns, optional: .appleIdentifier, unset: "required",
        "The identifier of the signing key: the ten characters in AuthKey_….p8.")
    static let privateKey = Setting(
        "APNS_PRIVATE_KEY", .apns, optional: .privateKey, unset: "required", secret: true,
        "The signing key (developer.apple.com, Keys, with the APNs service).")
    static let defaultBundleID = Setting(
        "APNS_DEFAULT_BUNDLE_ID", .apns, optional: .bundleID, unset: "a registration must name it",
        "The app of registrations that don't name one.")
    static let bundleIDs = Setting(
        "APNS_BUNDLE_IDS", .apns, optional: .bundleIDs, unset: "any app of the team",
        "The apps that devices may be registered for. A registration for another one is refused.")
    static let appsFile = Setting(
        "APNS_APPS_FILE", .apns, optional: .path, unset: "one app, of the settings around",
        "A JSON file with several apps, each with its team, key and settings, as docs/CONFIGURATION.md shows it. "
            + "SIGHUP reads it again.")
    static let productionURL = Setting(
        "APNS_PRODUCTION_URL", .apns, .apnsOrigin, default: .production,
        "The server for `apnsEnv` \"production\". Another one than Apple's is for tests.")
    static let sandboxURL = Setting(
        "APNS_SANDBOX_URL", .apns, .apnsOrigin, default: .sandbox,
        "The server for `apnsEnv` \"sandbox\". Another one than Apple's is for tests.")
    static let caFile = Setting(
        "APNS_CA_FILE", .apns, optional: .path, unset: "the system's certificates",
        "The certificates in PEM that APNs' server must stand under.")
    static let sound = Setting(
        "APNS_SOUND", .apns, .sound, default: "default",
        "The sound of a push: a file in the app, \"default\" for the system's, or \"none\".")
    static let timeToLive = Setting(
        "APNS_TTL", .apns, .duration(.zero...(.seconds(30 * 86400))), default: .seconds(86400),
        "How long APNs keeps a push for a device that is off. 0s: one attempt.")
    static let apnsConnectionsMax = Setting(
        "APNS_CONNECTIONS_MAX", .apns, .integer(1...64), default: 8,
        "Connections to each of APNs' servers. They are shared out over the loops, at least one each.")
    static let connectTimeout = Setting(
        "APNS_CONNECT_TIMEOUT", .apns, .duration(.milliseconds(100)...(.seconds(60))), default: .seconds(5),
        "How long a connection to APNs, with its TLS handshake, may take.")
    static let pushTimeout = Setting(
        "APNS_PUSH_TIMEOUT", .apns, .duration(.milliseconds(100)...(.seconds(60))), default: .seconds(8),
        "How long APNs may take to answer a push.")

    // MARK: Registrations and delivery

    static let secretBytesMin = Setting(
        "RELAY_SECRET_BYTES_MIN", .delivery, .integer(1...512), default: 16,
        "The fewest bytes of a secret that registers its first device. One that has devices may be shorter.")
    static let secretPepper = Setting(
        "RELAY_SECRET_PEPPER", .delivery, optional: .pepper, unset: "hashes without pepper", secret: true,
        users: [.serve] + .inspecting,
        "A key for the hashes under which registrations are kept. Those kept without it are still found; without "
            + "it those kept with it are lost.")
    static let secretPepperOther = Setting(
        "RELAY_SECRET_PEPPER_OTHER", .delivery, optional: .pepper, unset: "there is no other", secret: true,
        users: [.serve] + .inspecting,
        "Another key under whose hashes registrations are found: the one before, or the next. docs/ROTATION.md "
            + "changes RELAY_SECRET_PEPPER with it and loses none.")
    static let devicesPerSecretMax = Setting(
        "RELAY_DEVICES_PER_SECRET_MAX", .delivery, .integer(1...10_000), default: 50,
        "Devices that may be registered under one secret.")
    static let eventDeadline = Setting(
        "RELAY_EVENT_DEADLINE", .delivery, .duration(.milliseconds(100)...(.seconds(300))),
        default: .seconds(10),
        "After this time an event is answered; a push without outcome is queued.")
    static let pushesPerEventMax = Setting(
        "RELAY_PUSHES_PER_EVENT_MAX", .delivery, .integer(1...10_000), default: 500,
        "Pushes of one event that are in flight at once; the others of the same event follow.")
    static let pushesMax = Setting(
        "RELAY_PUSHES_MAX", .delivery, .integer(1...1_000_000), default: 20_000,
        "Pushes of all events that may wait for an outcome, shared out over the loops. Events beyond are answered "
            + "503 `overloaded` before anything is sent; one with more devices goes while no other does.")

    static let queueMax = Setting(
        "RELAY_QUEUE_MAX", .delivery, .integer(0...10_000_000), default: 200_000,
        "Pushes that may wait in the database to be sent again. Beyond, and with 0, what APNs can't take has failed."
    )
    static let queuePerSecretMax = Setting(
        "RELAY_QUEUE_PER_SECRET_MAX", .delivery, .integer(1...10_000_000), default: 20_000,
        "Pushes of one secret that may wait to be sent again.")
    static let retryDelayMax = Setting(
        "RELAY_RETRY_DELAY_MAX", .delivery, .duration(.milliseconds(100)...(.seconds(86_400))),
        default: .seconds(600),
        "The longest wait between two attempts to send a push, unless APNs asks for more.")
    static let readyQueueAge = Setting(
        "RELAY_READY_QUEUE_AGE", .delivery, .duration(.zero...(.seconds(30 * 86_400))),
        default: .seconds(300),
        "For how long a push that waits may have been due while `/ready` says 200. 0s: however long.")
    static let logRetention = Setting(
        "RELAY_LOG_RETENTION", .delivery, .duration(.seconds(3600)...(.seconds(3650 * 86400))),
        default: .seconds(30 * 86400),
        "How long the rows of the delivery log are kept.")

    // MARK: Limits

    static let eventsPerMinute = Setting(
        "RELAY_EVENTS_PER_MINUTE", .limits, .integer(0...10_000_000), default: 600,
        "Events and notifications of one secret; as many may come at once after a quiet minute. 0: no limit.")
    static let registrationsPerMinute = Setting(
        "RELAY_REGISTRATIONS_PER_MINUTE", .limits, .integer(0...10_000_000), default: 120,
        "Registrations, unregistrations and lists of one secret, counted together in the same way. 0: no limit."
    )
    static let unknownSecretsPerMinute = Setting(
        "RELAY_UNKNOWN_SECRETS_PER_MINUTE", .limits, .integer(0...10_000_000), default: 600,
        "Requests of one client address (an IPv6 /64 counts as one) for secrets without devices: events, "
            + "notifications, lists, first registrations, unregistrations of what isn't there. 0: no limit.")
    static let trustedProxies = Setting(
        "RELAY_TRUSTED_PROXIES", .limits, optional: .addressRanges, unset: "nobody",
        "Proxies whose `X-Forwarded-For` or `Forwarded` says who the client is. Without it a proxy in front is "
            + "one client, and what it forwards shares one limit.")

    // MARK: Logs

    static let logLevel = Setting(
        "RELAY_LOG_LEVEL", .log, .choice, default: LogLevel.info, users: [.serve, .migrate],
        "The least level that is logged. A line per request is level info.")
    static let logFormat = Setting(
        "RELAY_LOG_FORMAT", .log, optional: SettingType<LogFormat>.choice,
        unset: "text on a terminal, json otherwise",
        users: [.serve, .migrate],
        "How log lines look. They go to standard error.")
}
