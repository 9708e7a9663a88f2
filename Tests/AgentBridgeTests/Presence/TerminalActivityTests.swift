import ChildProcess
import Foundation
import Glibc
import Network
import Programs
import Testing

@testable import AgentBridge

@Suite("Quiet while someone is typing", .timeLimit(.minutes(2)))
struct TerminalActivityTests {
    @Test("the last input is that of the user's most recently read terminal")
    func terminals() throws {
        let directory = try TemporaryDirectory()
        #expect(TerminalActivity.lastInput(in: directory.path) == nil)
        var terminals: [(Int32, Int32)] = []
        defer {
            for (master, slave) in terminals {
                close(master)
                close(slave)
            }
        }
        for (name, hours) in [("0", 3), ("1", 2)] {
            var (master, slave): (Int32, Int32) = (-1, -1)
            try #require(openpty(&master, &slave, nil, nil, nil) == 0)
            terminals.append((master, slave))
            let path = try #require(ttyname(slave).map { String(cString: $0) })
            try FileManager.default.createSymbolicLink(
                atPath: directory.path + "/" + name, withDestinationPath: path)
            let read = timespec(tv_sec: hours * 3600, tv_nsec: 0)
            try #require(futimens(slave, [read, read]) == 0)
        }
        // Other files and broken links don't count.
        try Data().write(to: URL(fileURLWithPath: directory.path + "/2"))
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + "/3", withDestinationPath: "/nowhere")
        let latest: EpochMilliseconds = 3 * 3_600_000
        #expect(TerminalActivity.lastInput(in: directory.path) == latest)
        #expect(TerminalActivity.lastInput(in: directory.path, of: geteuid() + 1) == nil)

        let before = WallClock.system.now
        let (master, slave) = terminals[1]
        try #require(write(master, "a\n", 2) == 2)
        var buffer = [UInt8](repeating: 0, count: 16)
        try #require(read(slave, &buffer, buffer.count) == 2)
        let last = try #require(TerminalActivity.lastInput(in: directory.path))
        // The kernel rounds to eight seconds.
        #expect(last > before - 10_000)
    }

    @Test("a directory that doesn't exist has no terminals")
    func missing() { #expect(TerminalActivity.lastInput(in: "/nowhere") == nil) }

    @Test("only completed runs are silenced, and only for the configured time")
    func rule() {
        func rule(_ minutes: Int64, last: EpochMilliseconds?) -> QuietRule {
            QuietRule(time: .seconds(60 * minutes), lastInput: { last })
        }
        #expect(rule(5, last: 1_000).silences(.complete, now: 300_999))
        #expect(!rule(5, last: 1_000).silences(.complete, now: 301_000))
        #expect(!rule(5, last: nil).silences(.complete, now: 1))
        #expect(!rule(0, last: 1_000).silences(.complete, now: 1_000))
        for type in [EventType.permission, .error] {
            #expect(!rule(5, last: 1_000).silences(type, now: 1_000))
        }
    }
}
