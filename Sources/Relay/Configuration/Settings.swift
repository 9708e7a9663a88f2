import Programs

/// Every setting of the relay.
///
/// The parsing of the environment and flags, `--help` and docs/reference/configuration.md are generated from this
/// table.
enum Settings {
    /// All settings by section, in documentation order.
    static let table: [SettingRow] = [
        port.row, host.row, adminListen.row, adminHosts.row, adminToken.row, loops.row, connectionsMax.row,
        connectionsPerAddressMax.row, connectionsMemory.row, headDeadline.row, bodyDeadline.row,
        idleTimeout.row,
        shutdownDeadline.row, webOrigins.row, page.row, doors.row, openChamberBundleID.row,
        tlsCertFile.row, tlsKeyFile.row, tlsHandshakeDeadline.row,
        databaseURL.row, databaseConnections.row, databaseTimeout.row, databaseStartDeadline.row,
        copyFrom.row, copyTo.row,
        teamID.row, keyID.row, privateKey.row, defaultBundleID.row, bundleIDs.row,
        appsFile.row, productionURL.row, sandboxURL.row, caFile.row, sound.row, timeToLive.row,
        apnsConnectionsMax.row,
        connectTimeout.row, pushTimeout.row, httpsProxy.row, noProxy.row,
        vapidSubject.row, vapidPrivateKey.row, vapidPrivateKeyOther.row, webPushHosts.row, webPushCAFile.row,
        secretBytesMin.row, secretPepper.row, secretPepperOther.row, registration.row,
        registrationKey.row, devicesPerSecretMax.row,
        devicesMax.row, schedulesPerSecretMax.row,
        eventDeadline.row,
        pushesPerEventMax.row, pushesMax.row, queueMax.row, queueMebibytesMax.row, queuePerSecretMax.row,
        retryDelayMax.row, readyQueueAge.row, loggedDeliveries.row, logRetention.row, deviceDays.row,
        activityInterval.row, historyDays.row, historyText.row,
        eventsPerMinute.row, registrationsPerMinute.row, unknownSecretsPerMinute.row,
        devicePushesPerMinute.row, deviceSecretsPerDay.row, trustedProxies.row,
        logLevel.row, logFormat.row, coreDumps.row, tracesURL.row, tracesRatio.row, tracesHeaders.row,
        secret.row, envFile.row,
    ]

    /// The settings of `relay serve`.
    static let served = table.filter { $0.group != .copy && $0.group != .commands }

    // MARK: Server

    static let port = Setting(
        "PORT", .server, .integer(0...65535), default: 8787,
        "The TCP port to listen on. 0 picks a free one, shown in the first log line.")
    static let host = Setting(
        "HOST", .server, .address, default: "127.0.0.1",
        "The address to listen on. 0.0.0.0 means every IPv4 address; :: means every IPv4 and IPv6 address.")
    static let adminListen = Setting(
        "RELAY_ADMIN_LISTEN", .server, .listenAddress, default: .defaultLoopback(port: 8788),
        "The admin listener, which serves the console (docs/operate/console.md) and /metrics "
            + "(docs/reference/metrics.md) and makes the changes requested by relay revoke, block, unblock and "
            + "schedules. Keep it off public networks. Relays on one machine need different ports; port 0 picks a "
            + "free one. If another program is already using the default address, the relay starts without the "
            + "admin listener.")
    static let adminHosts = Setting(
        "RELAY_ADMIN_HOSTS", .server, optional: .hostNames,
        unset: "localhost, IP addresses, names without a dot",
        "Names accepted in the Host header by the admin listener. All others are refused, so that a web "
            + "page can't reach the listener through DNS rebinding.")
    static let adminToken = Setting(
        "RELAY_ADMIN_TOKEN", .server, optional: .adminToken, unset: "none required",
        secret: true,
        "The bearer token for /metrics, for the console and for commands that change data through the admin "
            + "listener. /health and /ready need none.")
    static let loops = Setting(
        "RELAY_LOOPS", .server, optional: .integer(1...64), unset: "one per core, at most 8",
        "The number of event loops. Each is a thread with its own listener and connections to APNs.")
    static let connectionsMax = Setting(
        "RELAY_CONNECTIONS_MAX", .server, .integer(1...1_000_000), default: 16_384,
        "Maximum open client connections. When the server is full, a new connection replaces the one that "
            + "has been idle the longest.")
    static let connectionsPerAddressMax = Setting(
        "RELAY_CONNECTIONS_PER_ADDRESS_MAX", .server, .integer(1...1_000_000), default: 1024,
        "Maximum open client connections from one address (an IPv6 /64 counts as one, a /48 as four). "
            + "Further ones get 503. Once half of RELAY_CONNECTIONS_MAX is in use, the limit drops, down to 16 "
            + "when the server is full. It doesn't apply to trusted proxies.")
    static let connectionsMemory = Setting(
        "RELAY_CONNECTIONS_MEMORY_MIB", .server, .integer(1...1_048_576), default: 256,
        "Maximum memory for all client connections, in MiB. Above it, the relay closes connections with "
            + "unfinished requests or unread responses, then idle ones.")
    static let headDeadline = Setting(
        "RELAY_HEAD_DEADLINE", .server, .duration(.milliseconds(100)...(.seconds(600))),
        default: .seconds(10),
        "How long a request's headers may take to arrive, counted from the request's first byte or, for a "
            + "connection's first request, from when the connection opens.")
    static let bodyDeadline = Setting(
        "RELAY_BODY_DEADLINE", .server, .duration(.milliseconds(100)...(.seconds(600))),
        default: .seconds(20),
        "How long a request's body may take to arrive, from the end of its headers.")
    static let idleTimeout = Setting(
        "RELAY_IDLE_TIMEOUT", .server, .duration(.milliseconds(100)...(.seconds(3600))),
        default: .seconds(75),
        "How long a connection may stay open without a request. A reverse proxy should use a shorter "
            + "timeout.")
    static let shutdownDeadline = Setting(
        "RELAY_SHUTDOWN_DEADLINE", .server, .duration(.milliseconds(100)...(.seconds(600))),
        default: .seconds(15),
        "How long requests in flight may take after SIGTERM or SIGINT before they are cut off.")
    static let webOrigins = Setting(
        "RELAY_WEB_ORIGINS", .server, optional: .origins, unset: "pages on this machine (localhost)",
        "The origins of further web pages that may use the relay (CORS). Requests without an Origin header "
            + "are always accepted.")
    static let page = Setting(
        "RELAY_PAGE", .server, .choice, default: OnOff.on,
        "Whether the relay serves its web page under /app/.")
    static let doors = Setting(
        "RELAY_DOORS", .server, .choice, default: OnOff.on,
        "Whether programs made for ntfy, Gotify, Bark and Expo can send through the relay with an access "
            + "token.")
    static let openChamberBundleID = Setting(
        "RELAY_OPENCHAMBER_BUNDLE_ID", .server, optional: .bundleID, unset: "none (requests get 404)",
        "The app (a build of OpenChamber signed by your team) that OpenChamber's servers notify with their "
            + "signed requests (docs/guide/senders.md).")

    // MARK: TLS

    static let tlsCertFile = Setting(
        "RELAY_TLS_CERT_FILE", .tls, optional: .path, unset: "plain HTTP",
        "The certificate chain in PEM. Set together with RELAY_TLS_KEY_FILE; SIGHUP reloads both.")
    static let tlsKeyFile = Setting(
        "RELAY_TLS_KEY_FILE", .tls, optional: .path, unset: "plain HTTP",
        "The certificate's private key in PEM, without a password.")
    static let tlsHandshakeDeadline = Setting(
        "RELAY_TLS_HANDSHAKE_DEADLINE", .tls, .duration(.milliseconds(100)...(.seconds(600))),
        default: .seconds(10), "How long a TLS handshake may take.")

    // MARK: Database

    static let databaseURL = Setting(
        "DATABASE_URL", .database, .database,
        default: .sqlite(path: "relay.db"),
        secret: true,
        "The database URL; docs/operate/databases.md describes its format.")
    static let databaseConnections = Setting(
        "RELAY_DATABASE_CONNECTIONS", .database, .integer(1...256), default: 10,
        "Maximum connections to a database server. Each has its own thread and is opened on demand. Not "
            + "used for SQLite.")
    static let databaseTimeout = Setting(
        "RELAY_DATABASE_TIMEOUT", .database, .duration(.milliseconds(100)...(.seconds(60))),
        default: .seconds(5),
        "Timeout for a call to a database server. While the server is known to be down, calls fail "
            + "immediately.")
    static let databaseStartDeadline = Setting(
        "RELAY_DATABASE_START_DEADLINE", .database, .duration(.zero...(.seconds(3600))),
        default: .seconds(60),
        "How long startup waits for a database server that is down. After that the relay exits with status 69."
    )

    // MARK: APNs

    static let teamID = Setting(
        "APNS_TEAM_ID", .apns, optional: .appleIdentifier, unset: "required",
        "The ID of the team that owns the app, shown on developer.apple.com under Membership.")
    static let keyID = Setting(
        "APNS_KEY_ID", .apns, optional: .appleIdentifier, unset: "required",
        "The signing key's ID: the ten characters in AuthKey_….p8.")
    static let privateKey = Setting(
        "APNS_PRIVATE_KEY", .apns, optional: .privateKey, unset: "required", secret: true,
        "The signing key, from developer.apple.com under Keys, with the APNs service enabled.")
    static let defaultBundleID = Setting(
        "APNS_DEFAULT_BUNDLE_ID", .apns, optional: .bundleID, unset: "registrations must name their app",
        "The app for registrations that don't name one.")
    static let bundleIDs = Setting(
        "APNS_BUNDLE_IDS", .apns, optional: .bundleIDs, unset: "any app of the team",
        "The apps that devices may register for. Registrations for others are refused.")
    static let appsFile = Setting(
        "APNS_APPS_FILE", .apns, optional: .path, unset: "one app, from the other APNS settings",
        "A JSON file with several apps, each with its team, key and settings; docs/reference/configuration.md has an example. "
            + "SIGHUP reloads it.")
    static let productionURL = Setting(
        "APNS_PRODUCTION_URL", .apns, .apnsOrigin, default: .production,
        "The server for `apnsEnv` \"production\". Change it only for tests.")
    static let sandboxURL = Setting(
        "APNS_SANDBOX_URL", .apns, .apnsOrigin, default: .sandbox,
        "The server for `apnsEnv` \"sandbox\". Change it only for tests.")
    static let caFile = Setting(
        "APNS_CA_FILE", .apns, optional: .path, unset: "the system's certificates",
        "A PEM file of the CA certificates to trust for APNs.")
    static let sound = Setting(
        "APNS_SOUND", .apns, .sound, default: "default",
        "The sound of a push: a file in the app, \"default\" for the system sound, or \"none\".")
    static let timeToLive = Setting(
        "APNS_TTL", .apns, .duration(.zero...(.seconds(30 * 86400))), default: .seconds(86400),
        "How long APNs stores a push for an offline device. 0s: APNs tries once.")
    static let apnsConnectionsMax = Setting(
        "APNS_CONNECTIONS_MAX", .apns, .integer(1...64), default: 8,
        "Maximum connections to each APNs server, divided among the event loops; each loop has at least "
            + "one.")
    static let connectTimeout = Setting(
        "APNS_CONNECT_TIMEOUT", .apns, .duration(.milliseconds(100)...(.seconds(60))), default: .seconds(5),
        "How long connecting to APNs may take, including the TLS handshake.")
    static let pushTimeout = Setting(
        "APNS_PUSH_TIMEOUT", .apns, .duration(.milliseconds(100)...(.seconds(60))), default: .seconds(8),
        "How long APNs may take to respond to a push.")

    // MARK: Web Push

    static let vapidSubject = Setting(
        "RELAY_VAPID_SUBJECT", .webPush, optional: .vapidSubject, unset: "no Web Push",
        "Enables Web Push: the mailto: or https: URL at which push services can reach you if your relay "
            + "causes trouble. Apple refuses domains that don't exist.")
    static let vapidPrivateKey = Setting(
        "RELAY_VAPID_PRIVATE_KEY", .webPush, optional: .vapidKey,
        unset: "the relay creates one at its first start and keeps it in the database", secret: true,
        "The key that identifies the relay to push services. Subscriptions are bound to it: if it changes, "
            + "every browser must subscribe again.")
    static let vapidPrivateKeyOther = Setting(
        "RELAY_VAPID_PRIVATE_KEY_OTHER", .webPush, optional: .vapidKey, unset: "no second key", secret: true,
        "An earlier key, for subscriptions that were made with it (docs/operate/rotate.md). Not needed for "
            + "the key that the relay keeps in the database.")
    static let webPushHosts = Setting(
        "RELAY_WEBPUSH_HOSTS", .webPush, optional: .pushHosts,
        unset: "the push services of Apple, Google, Microsoft and Mozilla",
        "Further push services: names, *.suffix, host:port (which may be private), or any (every public address)."
    )
    static let webPushCAFile = Setting(
        "RELAY_WEBPUSH_CA_FILE", .webPush, optional: .path, unset: "the system's certificates",
        "A PEM file of the CA certificates to trust for push services.")

    // MARK: Registrations and delivery

    static let secretBytesMin = Setting(
        "RELAY_SECRET_BYTES_MIN", .delivery, .integer(1...512), default: 16,
        "The minimum length in bytes of a secret that registers its first device. Secrets with devices may be shorter."
    )
    static let secretPepper = Setting(
        "RELAY_SECRET_PEPPER", .delivery, optional: .pepper, unset: "hashing without a pepper", secret: true,
        "A key for hashing secrets. Registrations stored without it are still found. If it is removed, "
            + "those stored with it are lost.")
    static let secretPepperOther = Setting(
        "RELAY_SECRET_PEPPER_OTHER", .delivery, optional: .pepper, unset: "no second pepper", secret: true,
        "A second pepper for finding registrations, so that you can change RELAY_SECRET_PEPPER without "
            + "losing any (docs/operate/rotate.md).")
    static let registration = Setting(
        "RELAY_REGISTRATION", .delivery, .choice, default: RegistrationMode.open,
        "Who may register devices. open: anyone. challenge: devices whose app returns a code that the "
            + "relay pushed to them; needs RELAY_SECRET_PEPPER. key: clients with RELAY_REGISTRATION_KEY.")
    static let registrationKey = Setting(
        "RELAY_REGISTRATION_KEY", .delivery, optional: .registrationKey, unset: "no key required",
        secret: true,
        "The bearer token that registrations need when RELAY_REGISTRATION is key. Create it with `openssl "
            + "rand -hex 32`.")
    static let devicesPerSecretMax = Setting(
        "RELAY_DEVICES_PER_SECRET_MAX", .delivery, .integer(1...10_000), default: 50,
        "Maximum devices per secret.")
    static let devicesMax = Setting(
        "RELAY_DEVICES_MAX", .delivery, .integer(0...1_000_000_000), default: 0,
        "Maximum devices of all secrets together. Beyond it, new devices get `relay_full`; registered ones "
            + "can still refresh their registration. The count may be a few seconds old. 0: no limit.")
    static let schedulesPerSecretMax = Setting(
        "RELAY_SCHEDULES_PER_SECRET_MAX", .delivery, .integer(0...Bounds.schedulesListedMax), default: 100,
        "Maximum schedules per secret. 0: no new ones; existing ones are still sent.")
    static let eventDeadline = Setting(
        "RELAY_EVENT_DEADLINE", .delivery, .duration(.milliseconds(100)...(.seconds(300))),
        default: .seconds(10),
        "How long the relay waits for the results of an event's pushes. Pushes without a result by then are "
            + "queued.")
    static let pushesPerEventMax = Setting(
        "RELAY_PUSHES_PER_EVENT_MAX", .delivery, .integer(1...10_000), default: 500,
        "Maximum pushes of one event in flight at once; the event's other pushes wait.")
    static let pushesMax = Setting(
        "RELAY_PUSHES_MAX", .delivery, .integer(1...1_000_000), default: 20_000,
        "Maximum pushes of all events in flight, divided among the event loops. Further events get 503 "
            + "`overloaded` before anything is sent.")

    static let queueMax = Setting(
        "RELAY_QUEUE_MAX", .delivery, .integer(0...10_000_000), default: 200_000,
        "Maximum pushes queued in the database for a retry. Beyond it, or if it is 0, pushes that APNs "
            + "can't accept now fail.")
    static let queueMebibytesMax = Setting(
        "RELAY_QUEUE_MIB_MAX", .delivery, .integer(1...1_048_576), default: 512,
        "Maximum size of the queued payloads, in MiB. The database needs about twice as much.")
    static let queuePerSecretMax = Setting(
        "RELAY_QUEUE_PER_SECRET_MAX", .delivery, .integer(1...10_000_000), default: 20_000,
        "Maximum pushes of one secret queued for a retry.")
    static let retryDelayMax = Setting(
        "RELAY_RETRY_DELAY_MAX", .delivery, .duration(.milliseconds(100)...(.seconds(86_400))),
        default: .seconds(600),
        "The longest delay between two attempts to send a push, unless APNs asks for a longer one.")
    static let readyQueueAge = Setting(
        "RELAY_READY_QUEUE_AGE", .delivery, .duration(.zero...(.seconds(30 * 86_400))),
        default: .seconds(300),
        "How long a queued push may be overdue before `/ready` reports a problem. 0s: no limit.")
    static let loggedDeliveries = Setting(
        "RELAY_LOG", .delivery, .choice, default: LoggedDeliveries.all,
        "Which push results go to the delivery log: all, only failures, or none (off). The results of "
            + "queued pushes, and of pushes to devices whose preferences set perHour or perDay, are always "
            + "logged.")
    static let logRetention = Setting(
        "RELAY_LOG_RETENTION", .delivery, .duration(.seconds(3600)...(.seconds(3650 * 86400))),
        default: .seconds(30 * 86400),
        "How long delivery log rows are kept.")
    static let deviceDays = Setting(
        "RELAY_DEVICE_DAYS", .delivery, .integer(0...Bounds.deviceDaysMax), default: 365,
        "How many days a device stays registered after its last registration. OpenCode's app registers at "
            + "each start. 0: forever.")
    static let activityInterval = Setting(
        "RELAY_ACTIVITY_INTERVAL", .delivery, .duration(.seconds(1)...(.seconds(3600))),
        default: .seconds(15),
        "Minimum time between two `progress` pushes to a Live Activity. iOS drops updates beyond a budget "
            + "that Apple doesn't publish.")
    static let historyDays = Setting(
        "RELAY_HISTORY_DAYS", .delivery, .integer(0...Bounds.historyDaysMax), default: 0,
        "How many days the relay keeps sent events and notifications, for `/v1/history/list` and unread badges. A secret "
            + "keeps its newest \(Bounds.historyItemsMax) items. 0: no history; existing items are removed."
    )
    static let historyText = Setting(
        "RELAY_HISTORY_TEXT", .delivery, .choice, default: OnOff.off,
        "Whether the history keeps readable titles and bodies. Sealed texts are kept sealed either way.")

    // MARK: Limits

    static let eventsPerMinute = Setting(
        "RELAY_EVENTS_PER_MINUTE", .limits, .integer(0...10_000_000), default: 600,
        "Maximum events and notifications per minute for one secret; a full minute's worth may arrive as a "
            + "burst. 0: no limit.")
    static let registrationsPerMinute = Setting(
        "RELAY_REGISTRATIONS_PER_MINUTE", .limits, .integer(0...10_000_000), default: 120,
        "Maximum registrations, unregistrations, lists, presence, history requests, acknowledgements and "
            + "replies per minute for one secret, counted together. 0: no limit.")
    static let unknownSecretsPerMinute = Setting(
        "RELAY_UNKNOWN_SECRETS_PER_MINUTE", .limits, .integer(0...10_000_000), default: 600,
        "Maximum requests per minute from one client address (an IPv6 /64 counts as one) that name unknown "
            + "secrets, devices or events, register new devices, or have a wrong registration key or signature; "
            + "docs/reference/api.md has the list. 0: no limit.")
    static let devicePushesPerMinute = Setting(
        "RELAY_DEVICE_PUSHES_PER_MINUTE", .limits, .integer(0...10_000_000), default: 120,
        "Maximum pushes per minute to one device of an app, from all secrets under which it is registered. "
            + "Further ones fail with `DeviceRateLimited`. 0: no limit.")
    static let deviceSecretsPerDay = Setting(
        "RELAY_DEVICE_SECRETS_PER_DAY", .limits, .integer(0...10_000_000), default: 16,
        "Maximum new secrets per day under which one device of an app may register. Registering again under "
            + "a known secret doesn't count. 0: no limit.")
    static let trustedProxies = Setting(
        "RELAY_TRUSTED_PROXIES", .limits, optional: .addressRanges, unset: "no proxy is trusted",
        "Proxies whose `X-Forwarded-For` or `Forwarded` header is trusted to name the client. All clients "
            + "behind any other proxy share the limits of its address.")

    // MARK: Logs

    static let logLevel = Setting(
        "RELAY_LOG_LEVEL", .log, .choice, default: LogLevel.info,
        "The minimum log level. Request lines are logged at info.")
    static let logFormat = Setting(
        "RELAY_LOG_FORMAT", .log, optional: SettingType<LogFormat>.choice,
        unset: "text on a terminal, json otherwise",
        "The format of log lines, which go to standard error.")
    static let coreDumps = Setting(
        "RELAY_CORE_DUMPS", .log, .choice, default: Switch.no,
        "Whether a crash may write a core dump and the relay's user may attach a debugger. A dump "
            + "contains the APNs keys and secrets.")

    // MARK: Traces

    static let tracesURL = Setting(
        "RELAY_TRACES_URL", .traces, optional: .webAddress, unset: "no traces",
        "Enables traces (docs/operate/traces.md): the full URL at which a collector accepts OTLP over HTTP "
            + "as JSON, such as http://127.0.0.1:4318/v1/traces.")
    static let tracesRatio = Setting(
        "RELAY_TRACES_RATIO", .traces, .share, default: 0.1,
        "The share of requests that are traced. Requests that their sender already traces are always traced "
            + "if their secret has devices. At most \(Bounds.tracesPerSecondMax) traces per second.")
    static let tracesHeaders = Setting(
        "RELAY_TRACES_HEADERS", .traces, optional: .traceHeaders, unset: "no further headers", secret: true,
        "Headers for the collector, such as authorization=Bearer …, separated by commas.")
}

/// The sections of `relay serve --help` and docs/reference/configuration.md.
extension SettingGroup {
    static let server = SettingGroup("Server")
    static let tls = SettingGroup("TLS")
    static let database = SettingGroup("Database")
    static let copy = SettingGroup("Copying a database")
    static let apns = SettingGroup("APNs")
    static let webPush = SettingGroup("Web Push")
    static let delivery = SettingGroup("Registrations and delivery")
    static let limits = SettingGroup("Limits")
    static let log = SettingGroup("Logs")
    static let traces = SettingGroup("Traces")
    static let commands = SettingGroup("Commands")
}

extension SettingReader {
    /// A reader for the relay's settings.
    init(_ sources: SettingSources) {
        self.init(sources, table: Settings.table, prefixes: ["RELAY_", "APNS_"])
    }
}

/// A setting that is on or off.
enum OnOff: String, CaseIterable, Sendable {
    case on, off
}

/// A setting that is yes or no.
enum Switch: String, CaseIterable, Sendable {
    case yes, no
}
