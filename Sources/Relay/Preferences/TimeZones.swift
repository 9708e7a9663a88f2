import Network

/// The time zones that the system knows, each read once from its files.
final class TimeZones: Sendable {
    /// Where Debian's package tzdata puts them.
    static let systemDirectory = "/usr/share/zoneinfo"
    /// The longest name, in bytes.
    static let nameBytesMax = 64
    /// How many are kept; there are some 600 names.
    private static let keptMax = 1024

    private let directory: String
    private let kept = Lock<[String: TimeZoneRules]>([:])

    /// The zones whose files stand in a directory.
    init(directory: String = systemDirectory) {
        self.directory = directory
    }

    /// The zone of an IANA name such as `Europe/Berlin`; `nil` when there is none.
    ///
    /// Reads a file of a few kilobytes at the first time.
    func zone(_ name: String) -> TimeZoneRules? {
        if let rules = kept.withLock({ $0[name] }) { return rules }
        guard Self.isName(name), case .success(let bytes) = SettingFile.read("\(directory)/\(name)"),
            let rules = TimeZoneRules(tzif: bytes)
        else { return nil }
        kept.withLock { kept in
            if kept.count >= Self.keptMax { kept = [:] }
            kept[name] = rules
        }
        return rules
    }

    /// Whether a text can be a zone's name: words of letters, digits and `_ + -`, joined by `/`.
    ///
    /// Nothing that leads out of the directory, and not the copies that count leap seconds.
    private static func isName(_ name: String) -> Bool {
        guard (1...nameBytesMax).contains(name.utf8.count) else { return false }
        let words = name.split(separator: "/", omittingEmptySubsequences: false)
        return words.first != "right" && words.first != "posix"
            && words.allSatisfy { word in
                word.utf8.first.map { ($0 | 0x20) &- UInt8(ascii: "a") < 26 } == true
                    && word.utf8.allSatisfy { byte in
                        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
                            || [UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-")].contains(byte)
                    }
            }
    }
}
