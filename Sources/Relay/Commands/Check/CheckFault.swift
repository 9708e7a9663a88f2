/// Everything that `relay check` can find to be wrong; the raw value is the name that `--json` shows.
///
/// docs/DIAGNOSIS.md is held to this table by a test.
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
    // The way to APNs
    case caFileUnusable = "ca_file_unusable"
    case nameNotResolved = "name_not_resolved"
    case connectionRefused = "connection_refused"
    case connectionTimeout = "connection_timeout"
    case networkUnreachable = "network_unreachable"
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
    case databaseSilent = "database_silent"
    case databaseRefused = "database_refused"
    case databaseFolder = "database_folder"
    case databaseReadOnly = "database_read_only"
    case databaseFull = "database_full"
    case databaseUnusable = "database_unusable"
    case schemaOlder = "schema_older"
    case schemaNewer = "schema_newer"
    case noDevices = "no_devices"
    // Disk, certificate, files
    case diskLow = "disk_low"
    case diskFull = "disk_full"
    case certificateUnusable = "certificate_unusable"
    case certificateExpired = "certificate_expired"
    case certificateExpiring = "certificate_expiring"
    case certificateChain = "certificate_chain"
    case fileLimit = "file_limit"
    // The relay that runs
    case relayNotReady = "relay_not_ready"
    case relayUnknown = "relay_unknown"
    // A secret's devices
    case secretWithoutDevices = "secret_without_devices"
    case deviceUnregistered = "device_unregistered"
    case deviceTokenBad = "device_token_bad"
    case deviceAppUnknown = "device_app_unknown"
    case lastPushFailed = "last_push_failed"
    // The check itself
    case tooSlow = "too_slow"

    /// How bad it is, unless a finding says otherwise.
    var status: CheckStatus {
        switch self {
        case .keyExposed, .keyNameDiffers, .tooManyRequests, .schemaOlder, .noDevices, .diskLow,
            .certificateExpiring, .certificateChain, .fileLimit, .relayUnknown:
            .warning
        default: .failed
        }
    }
}

extension CheckFault {
    /// What to do about it: a sentence or two for the operator.
    var advice: String {
        switch self {
        case .badSetting:
            "Mend the setting: relay serve doesn't start as long as there is one such problem. "
                + "docs/CONFIGURATION.md has all of them."
        case .keyUnreadable:
            "Put the .p8 file that Apple gave where the setting says, readable for the user that the relay runs as "
                + "(run this check as that user)."
        case .keyUnusable:
            "Use the file AuthKey_….p8 from developer.apple.com (Keys, with the APNs service) as it was downloaded. "
                + "It can be downloaded once; make a new key if it is lost."
        case .keyExposed:
            "Let only the relay's user read it: chmod 640, or 600, and the relay's own group."
        case .keyNameDiffers:
            "Apple names the file AuthKey_KEYID.p8. Unless it was renamed, APNS_KEY_ID belongs to another key."
        case .clockOff:
            "Have the clocks set by NTP (timedatectl set-ntp true). APNs refuses provider tokens whose time is more than "
                + "an hour off, and deliveries are timed by this clock."
        default: networkAdvice
        }
    }

    private var networkAdvice: String {
        switch self {
        case .caFileUnusable: "APNS_CA_FILE must name PEM certificates; unset it for Apple's servers."
        case .nameNotResolved:
            "Look at the machine's DNS: getent hosts api.push.apple.com, /etc/resolv.conf; in a container its network."
        case .connectionRefused:
            "Nothing listens there, or a firewall refuses. For Apple's servers allow TCP to port 443 (17.0.0.0/8)."
        case .connectionTimeout:
            "A firewall swallows it: allow outgoing TCP to the host and port (Apple: 443, 17.0.0.0/8)."
        case .networkUnreachable: "This machine has no route there: look at its network and default route."
        case .tlsUntrusted:
            "For Apple's servers bring ca-certificates up to date, and check this machine's clock; a proxy that opens TLS "
                + "must let APNs pass. For another server APNS_CA_FILE names its authority."
        case .tlsWrongName:
            "Another server answers there than the name says: look at DNS, /etc/hosts, proxies and APNS_…_URL."
        case .tlsFailed: "Something on the way breaks TLS: look for a proxy or firewall that inspects it."
        case .notTLS: "What listens there is no TLS server: check host and port of APNS_…_URL."
        case .noHTTP2:
            "APNs speaks HTTP/2 alone. A proxy or another server answers: check the URL and the way there."
        default: pushAdvice
        }
    }

    private var pushAdvice: String {
        switch self {
        case .providerTokenRefused:
            "Team ID, key ID and key file must belong together, and the key must not be revoked: the key ID is in the "
                + "file's name as it was downloaded (AuthKey_KEYID.p8), the team ID under Membership at developer.apple.com."
        case .providerTokenExpired:
            "This machine's clock is more than an hour behind APNs': set it by NTP."
        case .keyOfOtherEnvironment:
            "The key is scoped to the other environment: make one for this environment, or for both."
        case .tokensRenewedTooOften:
            "APNs allows one new provider token in 20 minutes. Something else renews tokens of this key too often."
        case .bundleRefused:
            "The bundle ID must be an app of the key's team, with push notifications on, and the key must be allowed for "
                + "it: compare it with Xcode's, letter by letter."
        case .tooManyRequests: "Wait some minutes. The relay keeps such pushes and sends them again."
        case .apnsTrouble:
            "APNs has trouble of its own: developer.apple.com/system-status. The relay keeps pushes and sends them again."
        case .noAnswer:
            "The connection stood and no answer came: look for a firewall or proxy that holds HTTP/2 back, and try again."
        case .unexpectedAnswer: "APNs doesn't answer so as a rule: is it APNs that answers there?"
        default: databaseAdvice
        }
    }

    private var databaseAdvice: String {
        switch self {
        case .databaseUnreachable:
            "Is the server running, and are host and port in DATABASE_URL its own? From a container localhost is the container."
        case .databaseSilent:
            "A firewall swallows it, or the server is overloaded: look at it from this machine."
        case .databaseRefused:
            "User, password, database or certificate in DATABASE_URL are not what the server wants; its log says more."
        case .databaseFolder:
            "The folder must be there, and folder and file be the relay's user's: make it so, or mend the path in "
                + "DATABASE_URL. Run this check as that user."
        case .databaseReadOnly:
            "The relay's user must be able to write the file and its folder; a server must be the primary and grant "
                + "INSERT, UPDATE and DELETE."
        case .databaseFull: "Make room for the database."
        case .databaseUnusable:
            "DATABASE_URL names something that isn't a relay's database, or is damaged: docs/DATABASES.md."
        case .schemaOlder: "Run relay migrate, or start relay serve, which does it too."
        case .schemaNewer:
            "This relay is too old for the database: install the version that was used before, or a newer one."
        case .noDevices:
            "Nobody can get a push yet. Register a device: the app does so when it is opened and knows the relay's address "
                + "and the secret."
        default: machineAdvice
        }
    }

    private var machineAdvice: String {
        switch self {
        case .diskLow, .diskFull: "Make room on the disk; RELAY_LOG_RETENTION bounds the delivery log."
        case .certificateUnusable:
            "RELAY_TLS_CERT_FILE must be the chain in PEM, leaf first, RELAY_TLS_KEY_FILE the leaf's key without password."
        case .certificateExpired, .certificateExpiring:
            "Renew it, put it where RELAY_TLS_CERT_FILE says, and send the relay SIGHUP. Clients refuse an expired one."
        case .certificateChain:
            "The file must hold the leaf and behind it each issuer in turn, or some clients can't verify it (fullchain.pem)."
        case .fileLimit:
            "Raise the limit of the service (LimitNOFILE= in its unit; ulimits in compose), or lower RELAY_CONNECTIONS_MAX."
        case .relayNotReady: "Mend what it names; this report has more about it."
        case .relayUnknown: "Something else has the relay's port: compare HOST and PORT."
        default: deviceAdvice
        }
    }

    private var deviceAdvice: String {
        switch self {
        case .secretWithoutDevices:
            "The app must register with exactly this secret, at a relay with this database and the same RELAY_SECRET_PEPPER. "
                + "A device that APNs no longer knew was removed: it registers anew when the app is opened."
        case .deviceUnregistered:
            "The app was deleted, or its token replaced: it registers anew when the app is opened."
        case .deviceTokenBad:
            "The token belongs to neither environment of this app, or isn't one: open the app again, so that it registers."
        case .deviceAppUnknown:
            "The device is registered for an app that the relay doesn't push to: add it to the apps file, "
                + "or let the app register anew."
        case .lastPushFailed:
            "The reason is APNs' word, or the relay's (docs/API.md); --send tries a push now."
        default: "Run it again; if it is slow again, look at the part that it names."
        }
    }
}
