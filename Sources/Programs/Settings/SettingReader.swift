import Spelling

/// Reads settings and collects all problems.
package struct SettingReader {
    /// The problems so far, each a sentence that starts with the setting's name as given.
    package private(set) var problems: [String] = []
    /// The settings read so far.
    package private(set) var inForce: [SettingInForce] = []
    private let sources: SettingSources
    private let known: [SettingRow]
    /// The prefixes of the program's variables, such as `RELAY_`.
    private let prefixes: [String]

    /// Creates a reader for the settings in a table.
    package init(_ sources: SettingSources, table: [SettingRow], prefixes: [String]) {
        self.sources = sources
        self.known = table
        self.prefixes = prefixes
        if let file = sources.file, !file.isDefault, let problem = file.problem { problems.append(problem) }
    }

    /// A setting's value, or its default if it isn't set.
    ///
    /// If the value is invalid, notes a problem and returns the default.
    package mutating func read<Value>(_ setting: Setting<Value>) -> Value {
        let row = setting.row
        assert(known.contains(row), "\(row.name) is not in the table of settings")
        let given = find(row)
        if !inForce.contains(where: { $0.row == row }) {
            inForce.append(
                SettingInForce(row: row, text: row.isSecret ? nil : given?.text, place: given?.name))
        }
        guard let given else { return setting.defaultValue }
        switch setting.type.parse(given.text) {
        case .success(let value):
            return value
        case .failure(let fault):
            problems.append(Self.sentence(given, row, fault))
            return setting.defaultValue
        }
    }

    /// The result of `read`, or `nil` if it noted a problem.
    package mutating func whole<Part>(_ read: (inout SettingReader) -> Part?) -> Part? {
        let count = problems.count
        let part = read(&self)
        return problems.count == count ? part : nil
    }

    /// Notes a problem that involves several settings.
    package mutating func note(_ problem: String) {
        problems.append(problem)
    }

    /// Reads a file whose path is given in a setting or the apps file.
    package func readFile(_ path: String) -> Result<[UInt8], FileError> { sources.readFile(path) }

    /// Whether a setting was given, even with an invalid value.
    package func isGiven(_ row: SettingRow) -> Bool {
        let names = row.isSecret ? [row.name, row.fileName] : [row.name]
        return names.contains { sources.value(of: $0) != nil }
    }

    /// The name under which a setting was given: its flag, its variable or its place in the file.
    package mutating func givenName(_ row: SettingRow) -> String? { find(row)?.name }

    /// Notes each variable that looks like a setting of this program but isn't one.
    package mutating func noteUnknownNames() {
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
            guard prefixes.contains(where: name.hasPrefix) else { continue }
            guard !ServiceLink.isOne(name: name, value: variables[name] ?? "") else { continue }
            let near = nearest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
            problems.append("\(Quoted.name(name))\(place) is not a setting of this program\(near)")
        }
    }

    /// The setting that was probably meant: the same except for its prefix (`RELAY_PORT`), or similar.
    private func nearest(to name: String, among names: [String]) -> String? {
        func stem(_ name: String) -> Substring {
            prefixes.contains(where: name.hasPrefix) ? name.drop { $0 != "_" }.dropFirst() : name[...]
        }
        return names.first { stem($0) == stem(name) } ?? EditDistance.nearest(to: name, among: names)
    }

    // MARK: Lookup

    private struct Given {
        /// The name as given: `PORT`, `--port`, `APNS_PRIVATE_KEY_FILE`.
        let name: String
        let text: String
    }

    private mutating func find(_ row: SettingRow) -> Given? {
        if let given = find(row, in: sources.flags, name: row.flag, fileName: row.fileFlag) { return given }
        if sources.prefersFile { return findInFile(row) ?? findInEnvironment(row) }
        return findInEnvironment(row) ?? findInFile(row)
    }

    private mutating func findInEnvironment(_ row: SettingRow) -> Given? {
        find(
            row, in: sources.environment.filter { !$0.value.isEmpty }, name: row.name, fileName: row.fileName)
    }

    private mutating func findInFile(_ row: SettingRow) -> Given? {
        guard let file = sources.file else { return nil }
        // The file is optional as long as the command needs no setting that the file could contain.
        if file.isDefault, file.fault?.isMissing == false, file.provides(row),
            let problem = file.problem, !problems.contains(problem)
        {
            problems.append(problem)
        }
        let place = " in \(Quoted.name(file.path))"
        let given = find(
            row, in: file.values.filter { !$0.value.isEmpty }, name: row.name + place,
            fileName: row.fileName + place)
        return given.map { Given(name: $0.name, text: file.resolve($0.text, row)) }
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
            // Repairing the text would turn it into another secret, and one that is easier to guess.
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

    private static func sentence(_ given: Given, _ row: SettingRow, _ fault: SettingError) -> String {
        let subject = row.isSecret ? given.name : "\(given.name) is \(Quoted.value(given.text))"
        switch fault {
        case .notAccepted: return "\(subject): expected \(row.accepts)"
        case .because(let reason): return "\(subject): \(reason)"
        case .withheld(let reason): return "\(given.name): \(reason)"
        }
    }
}
