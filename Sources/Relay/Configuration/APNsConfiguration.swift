import APNs
import Network
import Programs

/// The APNs servers and their settings.
struct APNsServers: Sendable {
    var production: APNsOrigin
    var sandbox: APNsOrigin
    var caFile: String?
    var connectionsMax: Int
    var connectTimeout: Duration
    var pushTimeout: Duration
    /// The proxy for servers not covered by ``noProxy``.
    private let proxy: ConnectProxy?
    private let noProxy: NoProxy

    init(_ reader: inout SettingReader) {
        production = reader.read(Settings.productionURL)
        sandbox = reader.read(Settings.sandboxURL)
        caFile = reader.read(Settings.caFile)
        connectionsMax = reader.read(Settings.apnsConnectionsMax)
        connectTimeout = reader.read(Settings.connectTimeout)
        pushTimeout = reader.read(Settings.pushTimeout)
        proxy = reader.read(Settings.httpsProxy)
        noProxy = reader.read(Settings.noProxy) ?? NoProxy()
    }

    /// The proxy for connections to a server; `nil` for none, as for servers on this machine.
    func proxy(for origin: APNsOrigin) -> ConnectProxy? {
        noProxy.covers(host: origin.host, port: origin.port) ? nil : proxy
    }

    /// The server for an environment.
    func origin(of environment: Environment) -> APNsOrigin {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }
}

/// The apps and the source of their configuration.
struct APNsConfiguration: Sendable {
    /// The apps with their keys.
    var apps: Apps
    /// The apps file, for reloading; `nil` if the settings define a single app.
    var appsFile: String?
    var servers: APNsServers

    /// Reads all APNs settings; `nil`, with problems noted, if the apps are missing or incomplete.
    ///
    /// - Parameter isOptional: Whether the relay can do without APNs; if so, no app settings means no apps.
    init?(_ reader: inout SettingReader, isOptional: Bool = false) {
        self.init(servers: APNsServers(&reader), &reader, isOptional: isOptional)
    }

    /// Reads the apps after the servers have been read.
    init?(servers: APNsServers, _ reader: inout SettingReader, isOptional: Bool = false) {
        self.servers = servers
        guard !isOptional || Self.appRows.contains(where: { reader.isGiven($0) }) else {
            apps = Apps([:])
            return
        }
        appsFile = reader.read(Settings.appsFile)
        let single = Self.singleApp(&reader, isWanted: !reader.isGiven(Settings.appsFile.row))
        guard let apps = appsFile.map({ Self.apps(of: $0, &reader) }) ?? single else { return nil }
        self.apps = apps
    }

    /// The settings that each imply that the relay has an app.
    private static let appRows = [
        Settings.teamID.row, Settings.keyID.row, Settings.privateKey.row, Settings.appsFile.row,
        Settings.defaultBundleID.row, Settings.bundleIDs.row,
    ]

    /// Reads the apps file; single-app settings given in addition are noted as a problem.
    private static func apps(of path: String, _ reader: inout SettingReader) -> Apps? {
        let rows = [
            Settings.teamID.row, Settings.keyID.row, Settings.privateKey.row, Settings.defaultBundleID.row,
            Settings.bundleIDs.row, Settings.sound.row, Settings.timeToLive.row,
        ]
        let given = rows.filter { reader.isGiven($0) }.map(\.name)
        if !given.isEmpty {
            let list = given.joined(separator: ", ")
            reader.note(
                "APNS_APPS_FILE describes the apps, but \(list) also \(given.count == 1 ? "describes" : "describe") "
                    + "one; unset one of them")
        }
        switch AppsFile.read(path, readFile: reader.readFile) {
        case .success(let apps): return apps
        case .failure(let problems):
            for problem in problems.all { reader.note("APNS_APPS_FILE: \(problem)") }
            return nil
        }
    }

    /// The single app that the settings define.
    ///
    /// - Parameter isWanted: Whether missing settings are a problem.
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
        // Each part was validated when it was read.
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
                "no APNs key: set APNS_TEAM_ID, APNS_KEY_ID and APNS_PRIVATE_KEY (or APNS_PRIVATE_KEY_FILE), or "
                    + "RELAY_VAPID_SUBJECT for Web Push alone; ./dev run tries the relay without one, against a simulator"
            )
            return
        }
        let list = missing.joined(separator: " and ")
        reader.note(
            "\(list) \(missing.count == 1 ? "is" : "are") not set; "
                + "APNS_TEAM_ID, APNS_KEY_ID and APNS_PRIVATE_KEY belong together")
    }
}
