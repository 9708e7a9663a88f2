import Storage

/// What `relay check` works with: the settings of `relay serve`, each part of which may be missing because of a problem.
struct CheckConfiguration: Sendable {
    /// Everything that keeps `relay serve` from starting, as it says it.
    let problems: [String]
    let server: ServerConfiguration?
    let database: DatabaseURL?
    let databaseServer: DatabaseServerConfiguration?
    let servers: APNsServers?
    let apps: Apps?
    let delivery: DeliveryConfiguration?
    /// The secret whose devices are looked at; `nil` when none was given.
    let secret: Secret?
    /// The key file that a setting names, and the identifier that is set beside it.
    let keyFile: (path: String, keyID: String?)?
    /// The key files that the apps file names.
    let appKeyFiles: [String]

    /// Reads the settings of `relay serve`; it never fails.
    init(_ sources: SettingSources) {
        let paths = Guarded<[String]>([])
        var recorded = sources
        recorded.readFile = { path in
            paths.withLock { $0.append(path) }
            return sources.readFile(path)
        }
        var reader = SettingReader(recorded)
        server = reader.whole { ServerConfiguration(&$0) }
        database = reader.whole { $0.read(Settings.databaseURL) }
        databaseServer = reader.whole { DatabaseServerConfiguration(&$0) }
        servers = reader.whole { APNsServers(&$0) }
        // Where the servers have a problem, those are only there to be carried along.
        var quiet = SettingReader(SettingSources())
        let carried = servers ?? APNsServers(&quiet)
        let appsPath = sources.value(of: Settings.appsFile.row.name)
        let before = paths.withLock { $0.count }
        apps = reader.whole { APNsConfiguration(servers: carried, &$0)?.apps }
        let settingFiles = [appsPath, sources.value(of: Settings.privateKey.row.fileName)].compactMap(\.self)
        appKeyFiles = paths.withLock { $0[before...].filter { !settingFiles.contains($0) } }
        delivery = reader.whole { DeliveryConfiguration(&$0) }
        _ = LogConfiguration(&reader)
        secret = reader.read(Settings.secret)
        reader.noteUnknownNames()
        problems = reader.problems
        keyFile = sources.value(of: Settings.privateKey.row.fileName).map {
            ($0, sources.value(of: Settings.keyID.row.name))
        }
    }
}

extension SettingSources {
    /// What was given for a name, as text; an empty variable counts as not set.
    func value(of name: String) -> String? {
        flags[name] ?? environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
