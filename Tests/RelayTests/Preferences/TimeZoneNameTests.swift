import ChildProcess
import Foundation
import Network
import OwnThread
import Testing

@testable import Relay

@Suite("Names of time zones", .timeLimit(.minutes(2)), .ownThread)
struct TimeZoneNameTests {
    private static let system = TimeZones.systemDirectory

    /// Runs a body with the time zones of a system that has only some of this one's, each as a copy of another.
    private func withZones(_ files: [String: String], _ body: (TimeZones) throws -> Void) throws {
        let files = FileManager.default.copies(of: files)
        let folder = try makeTemporaryDirectory()
        for (name, bytes) in files {
            let file = URL(fileURLWithPath: folder + "/" + name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try bytes.write(to: file)
        }
        try body(TimeZones(directory: folder))
    }

    @Test("An old name that the system lacks is its current name's zone, one that it has is its own")
    func links() throws {
        let kolkata = try #require(TimeZones().zone("Asia/Kolkata"))
        let berlin = try #require(TimeZones().zone("Europe/Berlin"))
        try withZones(["Asia/Kolkata": "Asia/Kolkata", "Etc/UTC": "Etc/UTC"]) { zones in
            #expect(zones.zone("Asia/Calcutta") == kolkata)
            #expect(zones.zone("Asia/Saigon") == nil && zones.zone("Europe/Berlin") == nil)
            #expect(zones.zone("Zulu")?.offset(at: 0) == 0)
        }
        try withZones(["Asia/Kolkata": "Asia/Kolkata", "Asia/Calcutta": "Europe/Berlin"]) { zones in
            #expect(zones.zone("Asia/Calcutta") == berlin)
        }
    }

    @Test("Without any data, UTC and offsets are known")
    func noData() {
        let zones = TimeZones(directory: "/nonexistent")
        for name in ["UTC", "GMT", "Etc/UTC", "Etc/GMT", "Zulu", "+00:00"] {
            #expect(zones.zone(name)?.offset(at: 1_800_000_000) == 0, "\(name)")
        }
        #expect(zones.zone("Etc/GMT-3")?.offset(at: 0) == 10_800)
        #expect(zones.zone("Europe/Berlin") == nil)
    }

    @Test(
        "An offset is a zone without daylight saving; only in IANA's own names is plus west of UTC",
        arguments: [
            ("+05:30", 19_800), ("-03:00", -10_800), ("+0530", 19_800), ("-03", -10_800), ("+5", 18_000),
            ("GMT+5:30", 19_800), ("GMT+05:30", 19_800), ("GMT+0530", 19_800), ("GMT-3", -10_800),
            ("UTC+2", 7_200), ("UTC-09:30", -34_200), ("UT+1", 3_600), ("GMT+530", 19_800),
            ("Etc/GMT-3", 10_800), ("Etc/GMT+12", -43_200), ("-00:00", 0), ("+14:00", 50_400),
        ])
    func offsets(name: String, seconds: Int) throws {
        let zone = try #require(TimeZones().zone(name))
        for time in [0, 1_768_000_000, 1_784_000_000] as [Int64] { #expect(zone.offset(at: time) == seconds) }
    }

    @Test(
        "What is no offset of less than a day is no zone",
        arguments: [
            "+", "-", "+24:00", "+05:60", "+05:3", "+5:30:00", "+005:30", "05:30", "+05:", "+:30", "GMT5:30",
            "GMT+", "UTC++2", "UTC+2 ", "+٣", "+12345", "CET+1", "Etc/+3", "Etc/UTC+x",
        ])
    func noOffsets(name: String) { #expect(TimeZones().zone(name) == nil) }

    @Test("The table is right: where the system has both names, they have had the same time for years")
    func table() throws {
        let zones = TimeZones()
        var compared = 0
        for (old, current) in TimeZoneLinks.current {
            #expect(TimeZoneLinks.current[current] == nil, "\(current) is old itself")
            guard let zone = zones.zone(old), let same = zones.zone(current) else {
                // A system may be older than the table.
                continue
            }
            compared += 1
            let differs = stride(from: Int64(1_577_836_800), to: 2_208_988_800, by: 6 * 3_600)
                .first { zone.offset(at: $0) != same.offset(at: $0) }
            #expect(differs == nil, "\(old) and \(current) at \(differs ?? 0)")
        }
        #expect(compared > 200)
    }

    @Test("The table has all old names of a system that isn't newer")
    func complete() throws {
        guard let text = try? String(contentsOfFile: Self.system + "/tzdata.zi", encoding: .utf8) else {
            return
        }
        let lines = text.split(separator: "\n")
        let version = try #require(lines.first).replacing("# version ", with: "")
        guard version <= TimeZoneLinks.version else { return }
        let names = lines.filter { $0.hasPrefix("L ") }.map { String($0.split(separator: " ")[2]) }
        #expect(names.count > 100)
        #expect(names.filter { TimeZoneLinks.current[$0] == nil }.isEmpty)
    }

    @Test("A name that isn't known is worth a line of the log once in a while, and many are worth few")
    func logged() {
        let zones = UnknownZones()
        var now = MonotonicTime.current
        #expect(zones.isWorthLogging("Mars/Olympus", at: now))
        #expect(!zones.isWorthLogging("Mars/Olympus", at: now + .seconds(3_599)))
        for index in 1..<Bounds.unknownZonesMax { #expect(zones.isWorthLogging("Zone/\(index)", at: now)) }
        #expect(!zones.isWorthLogging("Zone/More", at: now))
        now = now + Bounds.unknownZoneInterval
        #expect(zones.isWorthLogging("Mars/Olympus", at: now) && zones.isWorthLogging("Zone/More", at: now))
    }
}

extension FileManager {
    /// The contents of the system's zones under other names.
    fileprivate func copies(of files: [String: String]) -> [String: Data] {
        files.compactMapValues { contents(atPath: TimeZones.systemDirectory + "/" + $0) }
    }
}
