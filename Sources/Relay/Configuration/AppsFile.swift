import APNs
import JSON
import Network
import Programs
import Spelling
import Storage

/// The file that `APNS_APPS_FILE` names: several apps, each with its key.
///
///     {"defaultBundleID": "com.example.a",
///      "apps": [{"bundleIDs": ["com.example.a"], "teamID": "ABCDE12345", "keyID": "KEY1234567",
///                "privateKeyFile": "AuthKey_KEY1234567.p8", "environments": ["production"],
///                "sound": "default", "ttl": "24h"}]}
enum AppsFile {
    /// Reads and validates the whole file.
    ///
    /// - Parameter old: Keys in use; a key that is still listed keeps its object and thereby its connections.
    static func read(
        _ path: String, keeping old: [AppKey] = [],
        readFile: (String) -> Result<[UInt8], FileError> = SettingFile.read
    ) -> Result<Apps, AppsFileError> {
        switch readFile(path) {
        case .failure(let fault):
            return .failure(
                AppsFileError(["the file \(Quoted.value(path)) can't be read: \(fault.reason)"]))
        case .success(let bytes):
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
            return withoutActuallyEscaping(readFile) { readFile in
                var reader = AppsFileReader(folder: folder, old: old, readFile: readFile)
                let apps = reader.apps(bytes)
                guard let apps, reader.problems.isEmpty else {
                    return .failure(AppsFileError(reader.problems))
                }
                return .success(apps)
            }
        }
    }
}

/// All problems with an apps file: one sentence each, without key material.
struct AppsFileError: Error, Sendable, Equatable {
    let all: [String]

    /// Wraps at least one problem.
    init(_ all: [String]) {
        self.all = all
    }
}

/// Reads an apps file member by member and collects all problems.
private struct AppsFileReader {
    private(set) var problems: [String] = []
    private let folder: String
    private let old: [AppKey]
    private let readFile: (String) -> Result<[UInt8], FileError>
    /// The keys so far, each with the place where it was first used.
    private var keys: [(key: AppKey, place: String)] = []
    /// The place where each bundle ID was first used.
    private var places: [Topic: String] = [:]

    /// The nesting depth of a valid file.
    private static let depth = 4

    init(folder: String, old: [AppKey], readFile: @escaping (String) -> Result<[UInt8], FileError>) {
        self.folder = folder
        self.old = old
        self.readFile = readFile
    }

    /// The apps, or `nil` with at least one problem.
    mutating func apps(_ bytes: [UInt8]) -> Apps? {
        let value: JSON.Value
        do throws(JSON.ParseError) {
            value = try JSON.parse(bytes, maxBytes: Bounds.settingFileBytesMax, maxDepth: Self.depth)
        } catch {
            problems.append("not valid JSON: \(error.description)")
            return nil
        }
        guard let file = value.object else {
            problems.append("it must be a JSON object")
            return nil
        }
        noteUnknown(file, among: ["apps", "defaultBundleID"], at: "")
        guard let list = file["apps"]?.array, !list.isEmpty else {
            problems.append("apps must be a list of at least one app")
            return nil
        }
        var apps: [Topic: PushApp] = [:]
        for (index, entry) in list.enumerated() {
            guard let (bundleIDs, app) = app(entry, at: "apps[\(index)]") else { continue }
            for bundleID in bundleIDs { apps[bundleID] = app }
        }
        let defaultBundleID = text(file, "defaultBundleID", at: "", as: .bundleID)
        if let defaultBundleID, places[defaultBundleID] == nil {
            problems.append("defaultBundleID is not among the apps' bundleIDs")
        }
        return problems.isEmpty ? Apps(apps, defaultBundleID: defaultBundleID) : nil
    }

    private mutating func app(_ entry: JSON.Value, at place: String) -> ([Topic], PushApp)? {
        guard let object = entry.object else {
            problems.append("\(place) must be an object")
            return nil
        }
        noteUnknown(
            object,
            among: [
                "bundleIDs", "teamID", "keyID", "privateKey", "privateKeyFile", "environments", "sound",
                "ttl",
            ], at: place + ".")
        let bundleIDs = bundleIDs(object, at: place)
        let key = key(object, at: place)
        let environments = environments(object, at: place)
        var push = PushSettings()
        if let sound = text(object, "sound", at: place + ".", as: .sound) {
            push.sound = sound == "none" ? nil : sound
        }
        if let time = text(object, "ttl", at: place + ".", as: Settings.timeToLive.type) {
            push.timeToLive = time
        }
        guard let key else { return nil }
        return (bundleIDs, PushApp(key: key, environments: environments, push: push))
    }

    // MARK: Parts of an app

    private mutating func bundleIDs(_ object: JSON.Object, at place: String) -> [Topic] {
        guard let list = object["bundleIDs"]?.array, !list.isEmpty else {
            problems.append("\(place).bundleIDs must be a list of at least one bundle identifier")
            return []
        }
        var topics: [Topic] = []
        for (index, element) in list.enumerated() {
            let here = "\(place).bundleIDs[\(index)]"
            guard let text = element.string, let topic = Topic(text) else {
                problems.append("\(here) must be \(SettingType<Topic>.bundleID.accepts)")
                continue
            }
            if let earlier = places.updateValue(place, forKey: topic) {
                problems.append("\(here) is \(Quoted.value(text)), which \(earlier) already lists")
            }
            topics.append(topic)
        }
        return topics
    }

    private mutating func environments(_ object: JSON.Object, at place: String) -> Set<Environment> {
        guard let value = object["environments"] else { return Set(Environment.allCases) }
        let named = (value.array ?? []).map { $0.string.flatMap(Environment.init(rawValue:)) }
        let environments = Set(named.compactMap(\.self))
        if environments.isEmpty || environments.count != named.count {
            problems.append(
                "\(place).environments must be a list of \"production\", \"sandbox\" or both, each once")
        }
        return environments
    }

    private mutating func key(_ object: JSON.Object, at place: String) -> AppKey? {
        let teamID = required(object, "teamID", at: place)
        let keyID = required(object, "keyID", at: place)
        guard let text = keyText(object, at: place), let teamID, let keyID else { return nil }
        let key: AppKey
        do throws(ProviderCredentialProblems) {
            key = try AppKey(teamID: teamID, keyID: keyID, text: text)
        } catch {
            // The identifiers have been validated, so the problem is the key itself.
            let member = object["privateKey"] == nil ? "privateKeyFile" : "privateKey"
            problems += error.all.map { "\(place).\(member): it \($0.description)" }
            return nil
        }
        if let known = keys.first(where: { $0.key.hasSameName(as: key) }) {
            if known.key.isSame(as: key) { return known.key }
            problems.append(
                "\(place): key \(keyID) of team \(teamID) has a different private key in \(known.place)")
            return nil
        }
        let kept = old.first { $0.isSame(as: key) } ?? key
        keys.append((kept, place))
        return kept
    }

    private mutating func keyText(_ object: JSON.Object, at place: String) -> KeyText? {
        switch (object["privateKey"], object["privateKeyFile"]) {
        case (nil, nil):
            problems.append("\(place).privateKey or \(place).privateKeyFile is missing")
        case (_?, _?):
            problems.append("\(place).privateKey and \(place).privateKeyFile are both set; set one of them")
        case (let value?, nil):
            if let text = value.string { return KeyText(text) }
            problems.append("\(place).privateKey must be a string")
        case (nil, let value?):
            guard let name = value.string, !name.isEmpty, !name.utf8.contains(0) else {
                problems.append("\(place).privateKeyFile must be a path")
                return nil
            }
            let path = name.hasPrefix("/") ? name : folder + name
            switch readFile(path) {
            case .success(let bytes): return KeyText(bytes)
            case .failure(let fault):
                problems.append(
                    "\(place).privateKeyFile: the file \(Quoted.value(path)) can't be read: \(fault.reason)")
            }
        }
        return nil
    }

    // MARK: Members

    private mutating func required(_ object: JSON.Object, _ name: String, at place: String) -> String? {
        guard object[name] != nil else {
            problems.append("\(place).\(name) is missing")
            return nil
        }
        return text(object, name, at: place + ".", as: .appleIdentifier)
    }

    /// A member in the format of a setting; `nil` if it is missing or, with a problem noted, invalid.
    private mutating func text<Value>(
        _ object: JSON.Object, _ name: String, at place: String, as type: SettingType<Value>
    ) -> Value? {
        guard let value = object[name] else { return nil }
        guard let text = value.string else {
            problems.append("\(place)\(name) must be a string: \(type.accepts)")
            return nil
        }
        switch type.parse(text) {
        case .success(let value): return value
        case .failure(.notAccepted):
            problems.append("\(place)\(name) is \(Quoted.value(text)): expected \(type.accepts)")
        case .failure(.because(let reason)):
            problems.append("\(place)\(name) is \(Quoted.value(text)): \(reason)")
        case .failure(.withheld(let reason)): problems.append("\(place)\(name): \(reason)")
        }
        return nil
    }

    private mutating func noteUnknown(_ object: JSON.Object, among known: [String], at place: String) {
        for member in object.members where !known.contains(member.name) {
            let near =
                EditDistance.nearest(to: member.name, among: known).map { "; did you mean \($0)?" } ?? ""
            problems.append("\(place)\(Quoted.name(member.name)) is unknown\(near)")
        }
    }
}
