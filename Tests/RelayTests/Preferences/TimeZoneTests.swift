import Glibc
import Programs
import Testing

@testable import Relay

@Suite("Time zones", .timeLimit(.minutes(2)))
struct TimeZoneTests {
    private let zones = TimeZones()

    /// The C library reads the zone from the process's environment, so this test runs in a separate process.
    @Test("Offsets are those of the C library, at random moments from 1900 to 2200 and around every change")
    func offsets() async {
        await #expect(processExitsWith: .success) {
            let names = [
                "UTC", "Europe/Berlin", "Europe/Dublin", "Europe/London", "America/New_York",
                "America/St_Johns", "America/Sao_Paulo", "Asia/Kolkata", "Asia/Tehran", "Australia/Sydney",
                "Australia/Lord_Howe",
                "Pacific/Chatham", "Pacific/Apia", "Africa/Casablanca", "America/Santiago", "Etc/GMT+12",
                "EST5EDT",
            ]
            for name in names {
                let zone = try #require(TimeZones().zone(name))
                setenv("TZ", name, 1)
                tzset()
                let wrong = LibraryZone.differences(from: zone)
                #expect(wrong.isEmpty, "\(name): \(wrong.prefix(5)) of \(wrong.count)")
            }
        }
    }

    @Test(
        "A name that leads out of the directory, or is none, is no zone",
        arguments: [
            "", "/etc/passwd", "../../../etc/passwd", "Europe/../Europe/Berlin", "Europe//Berlin", "Europe/",
            "Europe/Berlin\0", "europe/berlin", "Nowhere/Land", "right/UTC", "posix/UTC", "zone.tab",
            "Europe",
            "CET-1CEST", "Europe/Berlin ",
        ])
    func names(name: String) {
        #expect(zones.zone(name) == nil)
    }

    @Test("Rules that repeat every year, in each of their forms")
    func rules() throws {
        // 2026-03-29 01:00 UTC and 2026-10-25 01:00 UTC.
        let berlin = try #require(PosixTimeZone("CET-1CEST,M3.5.0,M10.5.0/3"))
        #expect(berlin.offset(at: 1_774_745_999) == 3600 && berlin.offset(at: 1_774_746_000) == 7200)
        #expect(berlin.offset(at: 1_792_889_999) == 7200 && berlin.offset(at: 1_792_890_000) == 3600)
        // The same days by number: the 88th and the 298th, not counting leap days.
        let julian = try #require(PosixTimeZone("CET-1CEST,J88/2,J298/3"))
        let ordinal = try #require(PosixTimeZone("<+01>-1<+02>,87,297/3"))
        for zone in [julian, ordinal] {
            #expect(zone.offset(at: 1_774_745_999) == 3600 && zone.offset(at: 1_774_746_000) == 7200)
            #expect(zone.offset(at: 1_792_889_999) == 7200 && zone.offset(at: 1_792_890_000) == 3600)
        }
        #expect(PosixTimeZone("<-0330>3:30")?.offset(at: 0) == -12_600)
        #expect(PosixTimeZone("IST-1GMT0,M10.5.0,M3.5.0/1")?.offset(at: 1_767_225_600) == 0)
    }

    @Test(
        "What is no rule is refused",
        arguments: [
            "", "CET", "C-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
            "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J5", "CET-1CEST,366,5",
            "CET-25", "CET-1CEST,M3.5.0,M10.5.0x", "<CET-1",
        ])
    func noRules(text: String) {
        #expect(PosixTimeZone(text) == nil)
    }

    @Test("A file that was cut or changed anywhere is read in order or refused, never trapped over")
    func damage() throws {
        guard case .success(let whole) = SettingFile.read(TimeZones.systemDirectory + "/Europe/Berlin") else {
            Issue.record("no time zones on this system")
            return
        }
        #expect(TimeZoneRules(tzif: whole) != nil)
        for count in stride(from: 0, to: whole.count - 1, by: 7) {
            #expect(TimeZoneRules(tzif: Array(whole[..<count])) == nil)
        }
        var random = IDGenerator(seed: 5)
        for _ in 0..<2000 {
            var damaged = whole
            for _ in 0..<3 {
                damaged[Int.random(in: 0..<whole.count, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            _ = TimeZoneRules(tzif: damaged)?.offset(at: 1_800_000_000)
        }
    }
}

/// The zone that the C library reads from the environment, as parsed from the same files by other code.
private enum LibraryZone {
    static func offset(at time: Int64) -> Int {
        var seconds = time_t(time)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts.tm_gmtoff
    }

    /// The moments at which two zones differ.
    static func differences(from zone: TimeZoneRules) -> [Int64] {
        var random = IDGenerator(seed: 11)
        var moments = (0..<5000).map { _ in Int64.random(in: -2_200_000_000...7_200_000_000, using: &random) }
        var last: (time: Int64, offset: Int)?
        // From 1970 to 2070 day by day, and to the second where the offset changes.
        for day in 0..<36_500 as Range<Int64> {
            let time = day * 86_400
            let offset = offset(at: time)
            if let last, last.offset != offset {
                var (low, high) = (last.time, time)
                while high - low > 1 {
                    let middle = (low + high) / 2
                    if self.offset(at: middle) == last.offset { low = middle } else { high = middle }
                }
                moments += [low - 1, low, high, high + 1]
            }
            last = (time, offset)
        }
        return moments.filter { zone.offset(at: $0) != offset(at: $0) }
    }
}
