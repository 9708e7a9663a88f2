/// Every fault that `relay check` can find; the raw value is its name in `--json` output.
///
/// docs/operate/diagnose.md lists the names, and a test compares the list with these.
enum CheckFault: String, Sendable, CaseIterable {
    // Configuration
    case badSetting = "bad_setting"
    // Keys
    case keyUnreadable = "key_unreadable"
    case keyUnusable = "key_unusable"
    case keyExposed = "key_exposed"
    case keyNameDiffers = "key_name_differs"
    // Clock
    case clockOff = "clock_off"
    // The connection to APNs
    case caFileUnusable = "ca_file_unusable"
    case nameNotResolved = "name_not_resolved"
    case connectionRefused = "connection_refused"
    case connectionTimeout = "connection_timeout"
    case networkUnreachable = "network_unreachable"
    case proxyRefused = "proxy_refused"
    case tlsUntrusted = "tls_untrusted"
    case tlsWrongName = "tls_wrong_name"
    case tlsFailed = "tls_failed"
    case notTLS = "not_tls"
    case noHTTP2 = "no_http2"
    // Pushes
    case providerTokenRefused = "provider_token_refused"
    case providerTokenExpired = "provider_token_expired"
    case keyOfOtherEnvironment = "key_of_other_environment"
    case tokensRenewedTooOften = "tokens_renewed_too_often"
    case bundleRefused = "bundle_refused"
    case tooManyRequests = "too_many_requests"
    case apnsTrouble = "apns_trouble"
    case noAnswer = "no_answer"
    case unexpectedAnswer = "unexpected_answer"
    // Database
    case databaseUnreachable = "database_unreachable"
    case databaseCrowded = "database_crowded"
    case databaseSilent = "database_silent"
    case databaseRefused = "database_refused"
    case databaseUnsuitable = "database_unsuitable"
    case databaseDenied = "database_denied"
    case databaseInUse = "database_in_use"
    case databaseFolder = "database_folder"
    case databaseReadOnly = "database_read_only"
    case databaseFull = "database_full"
    case databaseUnusable = "database_unusable"
    case schemaOlder = "schema_older"
    case schemaNewer = "schema_newer"
    case noDevices = "no_devices"
    case timeZonesUnknown = "time_zones_unknown"
    // Disk, certificate, files
    case diskLow = "disk_low"
    case diskFull = "disk_full"
    case certificateUnusable = "certificate_unusable"
    case certificateExpired = "certificate_expired"
    case certificateExpiring = "certificate_expiring"
    case certificateChain = "certificate_chain"
    case fileLimit = "file_limit"
    // Addresses, and the running relay
    case addressTaken = "address_taken"
    case adminAddressTaken = "admin_address_taken"
    case addressUnusable = "address_unusable"
    case relayNotReady = "relay_not_ready"
    case relayUnknown = "relay_unknown"
    // A secret's devices
    case secretWithoutDevices = "secret_without_devices"
    case deviceUnregistered = "device_unregistered"
    case deviceTokenBad = "device_token_bad"
    case deviceAppUnknown = "device_app_unknown"
    case preferencesIgnored = "preferences_ignored"
    case lastPushFailed = "last_push_failed"
    // The check itself
    case tooSlow = "too_slow"

    /// The severity, unless a finding overrides it.
    var status: CheckStatus {
        switch self {
        case .keyExposed, .keyNameDiffers, .tooManyRequests, .schemaOlder, .noDevices, .diskLow,
            .certificateExpiring, .certificateChain, .fileLimit, .relayUnknown, .timeZonesUnknown,
            .preferencesIgnored:
            .warning
        default: .failed
        }
    }
}

extension CheckFault {
    /// How to fix the fault: a sentence or two for the operator.
    var advice: String {
        switch self {
        case .badSetting:
            "Fix the setting: relay serve doesn't start while any problem remains. "
                + "docs/reference/configuration.md lists all settings."
        case .keyUnreadable:
            "Put Apple's .p8 file at the path in the setting, readable by the user that the relay runs as "
                + "(run this check as that user)."
        case .keyUnusable:
            "Use the AuthKey_….p8 file from developer.apple.com (Keys, with the APNs service) exactly as downloaded. "
                + "Apple offers the download only once; create a new key if the file is lost."
        case .keyExposed:
            "Restrict access to the relay's user: chmod 600, or 640 with the relay's own group."
        case .keyNameDiffers:
            "Apple names the file AuthKey_KEYID.p8. Unless the file was renamed, APNS_KEY_ID belongs to a different key."
        case .clockOff:
            "Synchronize the clocks with NTP (timedatectl set-ntp true). APNs rejects provider tokens that are more than "
                + "an hour off, and the relay timestamps deliveries with this clock."
        default: networkAdvice
        }
    }

    private var networkAdvice: String {
        switch self {
        case .caFileUnusable:
            "APNS_CA_FILE must name a file of PEM certificates. Unset it for Apple's servers."
        case .nameNotResolved:
            "Check the machine's DNS (getent hosts api.push.apple.com, /etc/resolv.conf) or the container's network."
        case .connectionRefused:
            "Nothing listens there, or a firewall rejects it. For Apple's servers allow TCP to port 443 (17.0.0.0/8)."
        case .connectionTimeout:
            "A firewall drops the packets: allow outgoing TCP to the host and port (Apple: 443, 17.0.0.0/8)."
        case .networkUnreachable: "This machine has no route there: check its network and default route."
        case .proxyRefused:
            "The proxy in HTTPS_PROXY must allow CONNECT to the host and port with the user and password in its URL. "
                + "NO_PROXY lists the hosts that bypass it."
        case .tlsUntrusted:
            "For Apple's servers update ca-certificates and check this machine's clock; a proxy that intercepts TLS "
                + "must pass APNs through. For another server set APNS_CA_FILE to its CA certificate."
        case .tlsWrongName:
            "The certificate is for a different host: check DNS, /etc/hosts, proxies and APNS_…_URL."
        case .tlsFailed: "Something in between breaks TLS: look for a proxy or firewall that inspects it."
        case .notTLS: "The server there doesn't use TLS: check host and port of APNS_…_URL."
        case .noHTTP2:
            "APNs only supports HTTP/2, so a proxy or another server answered: check the URL and any proxy."
        default: pushAdvice
        }
    }

    private var pushAdvice: String {
        switch self {
        case .providerTokenRefused:
            "Team ID, key ID and key file must match, and the key must not be revoked. The key ID is in the "
                + "name of the downloaded file (AuthKey_KEYID.p8), the team ID under Membership at developer.apple.com."
        case .providerTokenExpired:
            "This machine's clock is more than an hour behind APNs': synchronize it with NTP."
        case .keyOfOtherEnvironment:
            "The key is scoped to the other environment: create one for this environment, or for both."
        case .tokensRenewedTooOften:
            "APNs allows one new provider token every 20 minutes. Another program renews this key's tokens too often."
        case .bundleRefused:
            "The bundle ID must belong to the key's team and have push notifications enabled, and the key must be valid "
                + "for it. Compare it with Xcode's, letter by letter."
        case .tooManyRequests: "Wait a few minutes. The relay queues such pushes and retries them."
        case .apnsTrouble:
            "APNs has an outage: see developer.apple.com/system-status. The relay queues pushes and retries them."
        case .noAnswer:
            "The connection was open but APNs didn't answer: look for a firewall or proxy that blocks HTTP/2, then retry."
        case .unexpectedAnswer:
            "APNs doesn't normally respond like this: check whether another server answers there."
        default: databaseAdvice
        }
    }

    private var databaseAdvice: String {
        switch self {
        case .databaseUnreachable:
            "Check that the server runs at the host and port in DATABASE_URL. In a container, localhost is the container."
        case .databaseCrowded:
            "The server or the account allows too few connections: lower RELAY_DATABASE_CONNECTIONS of each relay, or raise "
                + "the limit: max_connections on the server, or the account's own (max_user_connections, CONNECTION LIMIT)."
        case .databaseSilent:
            "A firewall drops the packets, or the server is overloaded: try to connect from this machine."
        case .databaseRefused:
            "The server rejects the user, password, database or certificate in DATABASE_URL; its log says more."
        case .databaseUnsuitable:
            "Change the setting that the message names, on the server or for the relay's account: see docs/operate/databases.md."
        case .databaseDenied:
            "Grant the missing privileges: SELECT, INSERT, UPDATE and DELETE on the relay's tables; to create or migrate "
                + "them, CREATE on the schema and ownership of the tables (Postgres), or CREATE, ALTER and INDEX on the "
                + "database (MySQL, MariaDB). Or run relay migrate with an account that has these privileges."
        case .databaseInUse:
            "Only one relay can use a SQLite file. Stop the other process, or give this relay its own DATABASE_URL."
        case .databaseFolder:
            "The directory must exist, and the relay's user must own it and the file: fix that, or the path in "
                + "DATABASE_URL. Run this check as that user."
        case .databaseReadOnly:
            "SQLite: give the relay's user write access to the file and its directory, on a read-write file system. Server: "
                + "name the primary in DATABASE_URL, or turn off read_only (MySQL, MariaDB) or "
                + "default_transaction_read_only (Postgres)."
        case .databaseFull: "Free up disk space for the database."
        case .databaseUnusable:
            "DATABASE_URL names something that isn't a relay database, or a damaged one: see docs/operate/databases.md."
        case .schemaOlder: "Run relay migrate, or start relay serve, which also migrates."
        case .schemaNewer:
            "This relay is too old for the database: install the version that last used it, or a newer one."
        case .noDevices:
            "No device can receive pushes yet. Open the app to register one; it needs the relay's address "
                + "and the secret."
        case .timeZonesUnknown:
            "Their quiet hours may not apply. If these are IANA names, install or update tzdata and send the relay SIGHUP; "
                + "otherwise update the app."
        default: machineAdvice
        }
    }

    private var machineAdvice: String {
        switch self {
        case .diskLow, .diskFull:
            "Free up disk space; a shorter RELAY_LOG_RETENTION shrinks the delivery log."
        case .certificateUnusable:
            "RELAY_TLS_CERT_FILE must be the PEM chain, leaf first, and RELAY_TLS_KEY_FILE the leaf's key without password."
        case .certificateExpired, .certificateExpiring:
            "Renew it, put it at RELAY_TLS_CERT_FILE, and send the relay SIGHUP. Clients reject an expired certificate."
        case .certificateChain:
            "The file must contain the leaf, then each issuer in turn (fullchain.pem), or some clients can't verify it."
        case .fileLimit:
            "Raise the service's limit (LimitNOFILE= in its unit; ulimits in compose), or lower RELAY_CONNECTIONS_MAX."
        case .addressTaken:
            "Nothing to do if the relay itself uses it. Otherwise stop the other program, or choose another PORT: relay serve "
                + "can't start without it."
        case .adminAddressTaken:
            "Stop the other program, or set RELAY_ADMIN_LISTEN to a free address or off. relay serve doesn't start if a "
                + "configured address is in use; if only the default is in use, it starts without the admin listener."
        case .addressUnusable:
            "HOST and RELAY_ADMIN_LISTEN must be addresses of this machine. Ports below 1024 need CAP_NET_BIND_SERVICE."
        case .relayNotReady: "Fix the checks that it names; this report has the details."
        case .relayUnknown: "Another program uses the relay's port: compare HOST and PORT."
        default: deviceAdvice
        }
    }

    private var deviceAdvice: String {
        switch self {
        case .secretWithoutDevices:
            "The app must register with exactly this secret, at a relay that uses this database and the same "
                + "RELAY_SECRET_PEPPER. A device that APNs no longer knew was removed: it registers again when the app is opened."
        case .deviceUnregistered:
            "The app was deleted, or its token replaced: it registers again when the app is opened."
        case .deviceTokenBad:
            "The token is invalid, or belongs to neither environment of this app: open the app again so that it registers."
        case .deviceAppUnknown:
            "The device is registered for an app that the relay doesn't push to: add it to the apps file, "
                + "or have the app register again."
        case .preferencesIgnored:
            "These preferences have no effect; the others apply. Update the relay, and tzdata for a time zone, or have the "
                + "app register a value that docs/reference/api.md lists."
        case .lastPushFailed:
            "The reason comes from APNs or the relay (docs/reference/api.md); --send tries a push now."
        default: "Run it again; if it is slow again, investigate the part that it names."
        }
    }
}
