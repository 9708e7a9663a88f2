import Spelling
import Storage

/// The sources of settings.
///
/// Both use the names of environment variables.
struct SettingSources: Sendable {
    /// Flags from the command line, by setting name.
    ///
    /// They take precedence over the environment.
    var flags: [String: String] = [:]
    /// The process's environment.
    ///
    /// An empty value counts as not set.
    var environment: [String: String] = [:]
    /// Provides settings missing in both; `nil` for none.
    var file: SettingsFile?
    /// Reads the file named by a `…_FILE` setting; fails with the system's message.
    var readFile: @Sendable (String) -> Result<[UInt8], FileFault> = { _ in
        .failure(FileFault(reason: "no files"))
    }
}

/// Reads settings and collects all problems.
struct SettingReader {
    /// The problems so far, each a sentence that starts with the name as given.
    private(set) var problems: [String] = []
    private let sources: SettingSources
    private let known: [SettingRow]

    /// A reader for the settings in a table.
    init(_ sources: SettingSources, table: [SettingRow] = Settings.table) {
        self.sources = sources
        self.known = table
        if let file = sources.file, !file.isDefault, let problem = file.problem { problems.append(problem) }
    }

    /// A setting's value, or its default if it isn't set.
    ///
    /// If it is invalid, a problem is noted and the default returned.
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

    /// The result of `read`, or `nil` if it noted a problem.
    mutating func whole<Part>(_ read: (inout SettingReader) -> Part?) -> Part? {
        let count = problems.count
        let part = read(&self)
        return problems.count == count ? part : nil
    }

    /// Notes a problem with several settings.
    mutating func note(_ problem: String) {
        problems.append(problem)
    }

    /// Reads a file that a setting or the apps file names.
    func readFile(_ path: String) -> Result<[UInt8], FileFault> { sources.readFile(path) }

    /// Whether a setting was given, even with an invalid value.
    func isGiven(_ row: SettingRow) -> Bool {
        let names = row.isSecret ? [row.name, row.fileName] : [row.name]
        return names.contains { sources.value(of: $0) != nil }
    }

    /// Notes each variable that looks like a setting of this program but isn't one.
    mutating func noteUnknownNames() {
        var names = known.map(\.name)
        names += known.filter(\.isSecret).map(\.fileName)
        noteUnknownNames(in: sources.environment, place: "", known: names)
        if let file = sources.file {
            noteUnknownNames(in: file.values, place: " in \(Quoted.name(file.path))", known: names)
        }
    }

    private mutating func noteUnknownNames(
        in variables: [String: String], place: String, known names: [String]
    ) {
        for name in variables.keys.sorted() where !names.contains(name) {
            guard name.hasPrefix("RELAY_") || name.hasPrefix("APNS_") else { continue }
            guard !ServiceLink.isOne(name: name, value: variables[name] ?? "") else { continue }
            let near = Self.nearest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
            problems.append("\(Quoted.name(name))\(place) is not a setting of this program\(near)")
        }
    }

    /// The setting probably meant: the same except for its prefix (`RELAY_PORT`), or similar.
    private static func nearest(to name: String, among names: [String]) -> String? {
        func stem(_ name: String) -> Substring {
            name.hasPrefix("RELAY_") || name.hasPrefix("APNS_")
                ? name.drop { $0 != "_" }.dropFirst() : name[...]
        }
        return names.first { stem($0) == stem(name) } ?? EditDistance.nearest(to: name, among: names)
    }

    // MARK: Lookup

    private struct Given {
        /// As given: `PORT`, `--port`, `APNS_PRIVATE_KEY_FILE`.
        let name: String
        let text: String
    }

    private mutating func find(_ row: SettingRow) -> Given? {
        let environment = sources.environment.filter { !$0.value.isEmpty }
        return find(row, in: sources.flags, name: row.flag, fileName: row.fileFlag)
            ?? find(row, in: environment, name: row.name, fileName: row.fileName)
            ?? findInFile(row)
    }

    private mutating func findInFile(_ row: SettingRow) -> Given? {
        guard let file = sources.file else { return nil }
        // Optional as long as the command needs no setting that the file could contain.
        if file.isDefault, file.fault?.isMissing == false, row.users.contains(.serve),
            let problem = file.problem, !problems.contains(problem)
        {
            problems.append(problem)
        }
        let place = " in \(Quoted.name(file.path))"
        let given = find(
            row, in: file.values.filter { !$0.value.isEmpty }, name: row.name + place,
            fileName: row.fileName + place)
        return given.map { Given(name: $0.name, text: file.resolved($0.text, row)) }
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
            // Repairing it would make it another secret, and one that is easier to guess.
            guard let text = String(validating: Self.withoutLineEnd(bytes), as: UTF8.self) else {
                problems.append("\(fileName): the file \(Quoted.value(path)) is not UTF-8 text")
                return nil
            }
            guard text.isEmpty else { return Given(name: fileName, text: text) }
            problems.append("\(fileName): the file \(Quoted.value(path)) is empty")
        case .failure(let fault):
            problems.append("\(fileName): the file \(Quoted.value(path)) can't be read: \(fault.reason)")
        }
        return nil
    }

    /// Drops one trailing line break, which editors add to a file.
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

/// Variables that Kubernetes and Docker set for a service called `relay` or `apns-…`.
enum ServiceLink {
    /// Whether a variable is one of them, such as `RELAY_PORT=tcp://10.0.0.1:8787` or `RELAY_SERVICE_HOST`.
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

/// Makes untrusted text safe for one line of a message.
enum Quoted {
    /// The text in quotation marks, with control characters escaped, cut after 80 characters.
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
