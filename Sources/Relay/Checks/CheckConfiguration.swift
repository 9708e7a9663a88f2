import Programs
import Storage

/// The configuration of `relay check`: the settings of `relay serve` without the invalid parts.
struct CheckConfiguration: Sendable {
    /// The configuration problems that keep `relay serve` from starting, as it reports them.
    let problems: [String]
    let server: ServerConfiguration?
    let database: DatabaseURL?
    let databaseServer: DatabaseServerConfiguration?
    let servers: APNsServers?
    let apps: Apps?
    /// The Web Push settings; `nil` if the relay doesn't use Web Push.
    let webPush: WebPushConfiguration?
    let delivery: DeliveryConfiguration?
    /// The secret whose devices are checked; `nil` if none was given.
    let secret: Secret?
    /// The configured key file and key ID.
    let keyFile: (path: String, keyID: String?)?
    /// The key files in the apps file.
    let appKeyFiles: [String]

    /// Reads the settings of `relay serve`; never fails.
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
        // Placeholders if the server settings have a problem.
        var quiet = SettingReader(SettingSources())
        let carried = servers ?? APNsServers(&quiet)
        let appsPath = sources.value(of: Settings.appsFile.row.name)
        let before = paths.withLock { $0.count }
        webPush = WebPushConfiguration(&reader)
        let isOptional = webPush != nil
        apps = reader.whole { APNsConfiguration(servers: carried, &$0, isOptional: isOptional)?.apps }
        let settingFiles = [appsPath, sources.value(of: Settings.privateKey.row.fileName)].compactMap(\.self)
        appKeyFiles = paths.withLock { $0[before...].filter { !settingFiles.contains($0) } }
        delivery = reader.whole { DeliveryConfiguration(&$0) }
        _ = LogConfiguration(&reader)
        _ = reader.read(Settings.coreDumps)
        secret = reader.read(Settings.secret)
        reader.noteUnknownNames()
        problems = reader.problems
        keyFile = sources.value(of: Settings.privateKey.row.fileName).map {
            ($0, sources.value(of: Settings.keyID.row.name))
        }
    }
}

extension SettingSources {
    /// A setting's text; an empty variable counts as not set.
    func value(of name: String) -> String? {
        flags[name] ?? Self.filled(environment[name]) ?? Self.filled(file?.values[name])
    }

    private static func filled(_ text: String?) -> String? {
        text.flatMap { $0.isEmpty ? nil : $0 }
    }
}
