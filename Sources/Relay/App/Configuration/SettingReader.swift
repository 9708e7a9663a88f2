import Storage

/// Where settings come from.
///
/// Names are those of environment variables in both.
struct SettingSources: Sendable {
    /// What the command line gave, by setting name.
    ///
    /// It goes before the environment.
    var flags: [String: String] = [:]
    /// The process's environment.
    ///
    /// An empty value counts as not set.
    var environment: [String: String] = [:]
    /// Reads a file that a `…_FILE` setting names; fails with the system's words.
    var readFile: @Sendable (String) -> Result<[UInt8], FileFault> = { _ in
        .failure(FileFault(reason: "no files"))
    }
}

/// Why a file could not be read, in the system's words, without its content.
struct FileFault: Error, Sendable, Equatable {
    let reason: String
}

/// Reads settings one after the other and collects every problem on the way.
struct SettingReader {
    /// The problems so far, each a sentence that starts with the name as it was given.
    private(set) var problems: [String] = []
    private let sources: SettingSources
    private let known: [SettingRow]

    /// A reader of the settings in a table.
    init(_ sources: SettingSources, table: [SettingRow] = Settings.table) {
        self.sources = sources
        self.known = table
    }

    /// The value of a setting: what was given, else its default.
    ///
    /// A problem is noted and the default returned.
    mutating func read<Value>(_ setting: Setting<Value>) -> Value {
        let row = setting.row
        assert(known.contains(row), "\(row.name) is not in the table of settings")
        guard let given = find(row) else { return setting.defaultValue }
        switch setting.type.parse(given.text) {
        case .success(let value):
            return value
        case .failure(let fault):
            problems.append(Self.sentence(given, row, fault))
            return setting.defaultValue
        }
    }

    /// What `read` reads, or `nil` when it noted a problem on the way.
    mutating func whole<Part>(_ read: (inout SettingReader) -> Part?) -> Part? {
        let count = problems.count
        let part = read(&self)
        return problems.count == count ? part : nil
    }

    /// Notes a problem that concerns several settings.
    mutating func note(_ problem: String) {
        problems.append(problem)
    }

    /// Reads a file that a setting or a configuration file names.
    func readFile(_ path: String) -> Result<[UInt8], FileFault> { sources.readFile(path) }

    /// Whether a setting was given at all, even with a bad value.
    func isGiven(_ row: SettingRow) -> Bool {
        let names = row.isSecret ? [row.name, row.fileName] : [row.name]
        return names.contains { sources.flags[$0] != nil || !(sources.environment[$0] ?? "").isEmpty }
    }

    /// Notes each variable that looks like a setting of this program and is none.
    mutating func noteUnknownNames() {
        var names = known.map(\.name)
        names += known.filter(\.isSecret).map(\.fileName)
        for name in sources.environment.keys.sorted() where !names.contains(name) {
            guard name.hasPrefix("RELAY_") || name.hasPrefix("APNS_") else { continue }
            guard !ServiceLink.isOne(name: name, value: sources.environment[name] ?? "") else { continue }
            let near = Self.nearest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
            problems.append("\(Quoted.name(name)) is no setting of this program\(near)")
        }
    }

    /// The setting that was meant: the same but for its prefix (`RELAY_PORT`), or nearly the same.
    private static func nearest(to name: String, among names: [String]) -> String? {
        func stem(_ name: String) -> Substring {
            name.hasPrefix("RELAY_") || name.hasPrefix("APNS_")
                ? name.drop { $0 != "_" }.dropFirst() : name[...]
        }
        return names.first { stem($0) == stem(name) } ?? EditDistance.nearest(to: name, among: names)
    }

    // MARK: Finding

    private struct Given {
        /// As the person wrote it: `PORT`, `--port`, `APNS_PRIVATE_KEY_FILE`.
        let name: String
        let text: String
    }

    private mutating func find(_ row: SettingRow) -> Given? {
        let environment = sources.environment.filter { !$0.value.isEmpty }
        return find(row, in: sources.flags, name: row.flag, fileName: row.fileFlag)
            ?? find(row, in: environment, name: row.name, fileName: row.fileName)
    }

    private mutating func find(
        _ row: SettingRow, in source: [String: String], name: String, fileName: String
    ) -> Given? {
        let text = source[row.name]
        guard row.isSecret, let path = source[row.fileName] else {
            return text.map { Given(name: name, text: $0) }
        }
        if text != nil {
            problems.append("\(name) and \(fileName) are both set; set one of them")
            return nil
        }
        switch sources.readFile(path) {
        case .success(let bytes):
            // Repaired it would be another secret, and one that is easier to guess.
            guard let text = String(validating: Self.withoutLineEnd(bytes), as: UTF8.self) else {
                problems.append("\(fileName): the file \(Quoted.value(path)) is no text in UTF-8")
                return nil
            }
            guard text.isEmpty else { return Given(name: fileName, text: text) }
            problems.append("\(fileName): the file \(Quoted.value(path)) is empty")
        case .failure(let fault):
            problems.append("\(fileName): the file \(Quoted.value(path)) can't be read: \(fault.reason)")
        }
        return nil
    }

    /// Editors end a file with a line break that is not part of the secret: one is dropped.
    private static func withoutLineEnd(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        var bytes = bytes[...]
        if bytes.last == UInt8(ascii: "\n") {
            bytes.removeLast()
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        }
        return bytes
    }

    private static func sentence(_ given: Given, _ row: SettingRow, _ fault: SettingFault) -> String {
        let subject = row.isSecret ? given.name : "\(given.name) is \(Quoted.value(given.text))"
        switch fault {
        case .notAccepted: return "\(subject): expected \(row.accepts)"
        case .because(let reason): return "\(subject): \(reason)"
        }
    }
}

/// Variables that Kubernetes and Docker set by themselves for a service that is called `relay` or `apns-…`.
enum ServiceLink {
    /// Whether a variable is one of those, such as `RELAY_PORT=tcp://10.0.0.1:8787` and `RELAY_SERVICE_HOST`.
    static func isOne(name: String, value: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") { return true }
        if name.contains("_SERVICE_PORT_") { return true }
        let protocols = ["TCP", "UDP", "SCTP"]
        let isURL = protocols.contains { value.hasPrefix($0.lowercased() + "://") }
        if name.hasSuffix("_PORT"), isURL { return true }
        // RELAY_PORT_8787_TCP, and the same with _PROTO, _PORT and _ADDR.
        let words = name.split(separator: "_")
        guard let index = words.lastIndex(where: { protocols.contains(String($0)) }), index >= 3 else {
            return false
        }
        let tail = words[(index + 1)...]
        return words[index - 2] == "PORT" && words[index - 1].utf8.allSatisfy { (0x30...0x39).contains($0) }
            && (tail.isEmpty || tail == ["PROTO"] || tail == ["PORT"] || tail == ["ADDR"])
    }
}

/// Text from outside, made safe for one line of a message.
enum Quoted {
    /// The text in quotation marks, control characters escaped, cut after 80 characters.
    static func value(_ text: String) -> String {
        "\"" + name(text) + "\""
    }

    /// The same without quotation marks.
    static func name(_ text: String) -> String {
        var safe = ""
        for scalar in text.unicodeScalars.prefix(80) {
            let isPlain =
                scalar.properties.generalCategory != .control && scalar.properties.generalCategory != .format
            safe += isPlain ? String(scalar) : scalar.escaped(asASCII: true)
        }
        return text.unicodeScalars.count > 80 ? safe + "…" : safe
    }
}
