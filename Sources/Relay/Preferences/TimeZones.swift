import Network
import Programs

/// The system's time zones, each read once from its file.
final class TimeZones: Sendable {
    /// Where Debian's tzdata package installs time zones.
    static let systemDirectory = "/usr/share/zoneinfo"
    /// Maximum length of a name, in bytes.
    static let nameBytesMax = 64
    /// Maximum cached zones; there are about 600 names.
    private static let keptMax = 1024

    private let directory: String
    private let kept = Lock<[String: TimeZoneRules]>([:])

    /// Creates the time zones from the files in a directory.
    init(directory: String = systemDirectory) {
        self.directory = directory
    }

    /// The zone for an IANA name such as `Europe/Berlin`, or for an offset such as `+05:30`; `nil` if it isn't known.
    ///
    /// The system's own zone with that name takes precedence. An old name that the system lacks, such as
    /// `Asia/Calcutta`, means the zone with the current name. The first call for a name reads a file of a few
    /// kilobytes.
    func zone(_ name: String) -> TimeZoneRules? {
        if let rules = kept.withLock({ $0[name] }) { return rules }
        let current = TimeZoneLinks.current[name]
        guard
            let rules = file(name) ?? current.flatMap(file)
                ?? FixedOffset.seconds(current ?? name).map(TimeZoneRules.init(offset:))
        else { return nil }
        kept.withLock { kept in
            if kept.count >= Self.keptMax { kept = [:] }
            kept[name] = rules
        }
        return rules
    }

    private func file(_ name: String) -> TimeZoneRules? {
        guard Self.isName(name), case .success(let bytes) = SettingFile.read("\(directory)/\(name)") else {
            return nil
        }
        return TimeZoneRules(tzif: bytes)
    }

    /// Whether a text can be a zone's name: words of letters, digits and `_ + -`, joined by `/`.
    ///
    /// Excludes paths outside the directory and the copies that count leap seconds.
    static func isName(_ name: String) -> Bool {
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
