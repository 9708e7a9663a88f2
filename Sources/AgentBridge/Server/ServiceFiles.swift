import Glibc
import JSON
import Programs

/// The files in which background servers of 2.x describe themselves.
enum ServiceFiles {
    /// The files of running servers: `service.json` first, then the files of other channels, the newest first.
    static func read(_ environment: [String: String]) -> [(String, [UInt8])] {
        guard let folder = folder(environment) else { return [] }
        let others = names(folder).filter { $0.hasPrefix("service-") && $0.hasSuffix(".json") }
            .map { folder + "/" + $0 }
            .sorted { modified($0) > modified($1) }
        return ([folder + "/service.json"] + others).compactMap { path in
            guard let bytes = try? SmallFile.read(path, bytesMax: Bounds.settingFileBytesMax),
                isRunning(bytes)
            else { return nil }
            return (path, bytes)
        }
    }

    private static func folder(_ environment: [String: String]) -> String? {
        StateDirectory.base(environment).map { $0 + "/opencode" }
    }

    /// Whether the process that wrote a file still exists.
    private static func isRunning(_ bytes: [UInt8]) -> Bool {
        guard let file = try? JSON.parse(bytes, maxBytes: Bounds.settingFileBytesMax) else { return false }
        guard let pid = file["pid"]?.int, pid > 1, let number = pid_t(exactly: pid) else { return true }
        return kill(number, 0) == 0 || errno == EPERM
    }

    private static func names(_ folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names
    }

    private static func modified(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mtim.tv_sec : 0
    }
}

/// Where the bridge keeps its state and settings.
enum StateDirectory {
    /// The names of the bridge and its directories, the current name first.
    static let names = ["agent-bridge", "opencode-bridge"]

    /// The bridge's directory for its state; `nil` without a home directory.
    static func standard(_ environment: [String: String]) -> String? {
        base(environment).map { own(in: $0) }
    }

    /// The bridge's directory in `base`: the one with the bridge's former name if only that one exists, because it
    /// contains the pairing.
    static func own(in base: String) -> String {
        let paths = names.map { base + "/" + $0 }
        return paths.first { access($0, F_OK) == 0 } ?? paths[0]
    }

    /// `$XDG_STATE_HOME`, or its default.
    static func base(_ environment: [String: String]) -> String? {
        if let path = environment["XDG_STATE_HOME"], path.hasPrefix("/") { return path }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return home + "/.local/state"
    }
}
