import Foundation
import Network
import Testing

@testable import OpenCodeBridge

@Suite("Hooks that are called twice", .timeLimit(.minutes(2)))
struct HookMomentsTests {
    private static let window = Bounds.hookWindow.milliseconds

    @Test("the same moment rings once within the window, another moment always")
    func window() throws {
        let directory = try TestDirectory()
        let moments = try HookMoments(directory: directory.path + "/new")
        #expect(try !moments.isRepeated("a", now: 1_000))
        #expect(try moments.isRepeated("a", now: 1_000))
        #expect(try moments.isRepeated("a", now: 1_000 + Self.window - 1))
        #expect(try !moments.isRepeated("b", now: 1_001))
        // The window begins with what rang, not with what was repeated.
        #expect(try !moments.isRepeated("a", now: 1_000 + Self.window))
        #expect(try moments.isRepeated("a", now: 1_001 + Self.window))
    }

    @Test("a clock that was set back, or a file with something else in it, silences nothing")
    func faults() throws {
        let directory = try TestDirectory()
        let moments = try HookMoments(directory: directory.path)
        #expect(try !moments.isRepeated("a", now: 10 * Self.window))
        #expect(try !moments.isRepeated("a", now: 1))
        try Data("nonsense\n-1 a\n9999999999999999999 b\n\n5".utf8)
            .write(to: URL(fileURLWithPath: directory.path + "/hooks"))
        #expect(try !moments.isRepeated("a", now: 1))
        #expect(try moments.isRepeated("a", now: 1))
    }

    @Test("the file stays small")
    func bound() throws {
        let directory = try TestDirectory()
        let moments = try HookMoments(directory: directory.path)
        for number in 0..<Bounds.hookMomentsMax + 10 {
            #expect(try !moments.isRepeated("moment \(number)", now: 1))
        }
        let lines = try String(contentsOfFile: directory.path + "/hooks", encoding: .utf8).split(
            separator: "\n")
        #expect(lines.count == Bounds.hookMomentsMax)
        #expect(try !moments.isRepeated("moment \(Bounds.hookMomentsMax)", now: 1 + Self.window))
    }

    @Test("of calls at the same time, one rings")
    func concurrency() async throws {
        let directory = try TestDirectory()
        let path = directory.path
        let rung = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { try !HookMoments(directory: path).isRepeated("a", now: 1) }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(rung == 1)
        #expect(FileManager.default.fileExists(atPath: path + "/hooks"))
    }
}
