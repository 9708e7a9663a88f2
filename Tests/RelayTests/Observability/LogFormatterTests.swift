import APNs
import Dispatch
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

private func line(_ event: LogEvent, _ formatter: LogFormatter) -> String {
    var bytes: [UInt8] = []
    formatter.append(event, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
}

@Suite("Log lines", .timeLimit(.minutes(2)))
struct LogFormatterTests {
    private let request = LogEvent(
        time: 1_795_265_257_123, level: .info, name: "request",
        fields: [
            .requestID("abc-1"), .route(.event), .status(200), .duration(.microseconds(12_034)),
            .secretHash(SecretHasher().key(of: Secret("0123456789abcdef")).primary), .count("devices", 2),
        ])

    @Test("JSON is one object a line, with time, level and event first")
    func json() {
        #expect(
            line(request, LogFormatter(format: .json)) == """
                {"time":"2026-11-21T12:47:37.123Z","level":"info","event":"request","request_id":"abc-1",\
                "route":"POST /v1/event","status":200,"duration_ms":12.034,"secret":"9f9f5111f7b2","devices":2}

                """)
    }

    @Test("Text has columns, and values that are no plain word stand in quotation marks")
    func text() {
        #expect(
            line(request, LogFormatter(format: .text)) == """
                2026-11-21T12:47:37.123Z info    request          request_id=abc-1 route="POST /v1/event" status=200 \
                duration_ms=12.034 secret=9f9f5111f7b2 devices=2

                """)
    }

    @Test(
        "A line stays one line, whatever is in a value",
        arguments: ["a\nb", "a\r\nb", "\u{1B}[31m", "\u{2028}", "\u{202E}x", "\0"])
    func injection(value: String) throws {
        let event = LogEvent(time: 0, level: .error, name: "x", fields: [.note("detail", value)])
        for format in LogFormat.allCases {
            let text = line(event, LogFormatter(format: format))
            #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 1)
            #expect(!text.dropLast().unicodeScalars.contains { $0.properties.generalCategory == .control })
        }
        let text = line(event, LogFormatter(format: .text))
        #expect(!text.unicodeScalars.contains { $0 == "\u{2028}" || $0 == "\u{202E}" })
        let json = try JSON.parse(Array(line(event, LogFormatter(format: .json)).utf8), maxBytes: 1000)
        #expect(json["detail"] == .string(value))
    }

    @Test("An empty value and quotation marks can be told apart")
    func quotes() {
        let event = LogEvent(
            time: 0, level: .debug, name: "x",
            fields: [.note("a", ""), .note("b", "say \"hi\" \\"), .note("c", "d=e")])
        #expect(
            line(event, LogFormatter(format: .text))
                == "1970-01-01T00:00:00.000Z debug   x                a=\"\" b=\"say \\\"hi\\\" \\\\\" c=\"d=e\"\n"
        )
    }

    @Test("Colour comes only when it is asked for")
    func colour() {
        #expect(!line(request, LogFormatter(format: .text)).contains("\u{1B}"))
        #expect(line(request, LogFormatter(format: .text, colour: true)).contains("\u{1B}[32minfo"))
        #expect(!line(request, LogFormatter(format: .json, colour: true)).contains("\u{1B}"))
    }

    @Test(
        "Times are UTC dates of the Gregorian calendar",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_799_999, "2024-02-28T23:59:59.999Z"), (4_107_542_399_001, "2100-02-28T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ])
    func times(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds).text == text)
    }

    @Test("A device shows its last eight characters, a secret's hash its first twelve")
    func redaction() throws {
        let token = try #require(DeviceToken("00112233445566778899aabbccddeeff"))
        let key = SecretHasher().key(of: Secret("0123456789abcdef"))
        let event = LogEvent(
            time: 0, level: .info, name: "x", fields: [.device(token), .secretHash(key.primary)])
        for format in LogFormat.allCases {
            let text = line(event, LogFormatter(format: format))
            #expect(text.contains("ccddeeff") && !text.contains("bbccddeeff"))
            #expect(text.contains(key.primary.hex.prefix(12)) && !text.contains(key.primary.hex.prefix(13)))
        }
    }
}

@Suite("Log", .timeLimit(.minutes(2)))
struct LogTests {
    @Test("Closing writes what waits; later events are dropped")
    func close() async throws {
        let lines = LogLines()
        lines.log(.info, "first")
        lines.log(.error, "second", [.count("n", 2)])
        let written = try await lines.closed()
        lines.log(.error, "late")
        #expect(written.map { $0["event"] } == ["first", "second"])
        #expect(!lines.text.contains("late"))
    }

    @Test("Events below the level are not written")
    func level() async throws {
        let lines = LogLines(level: .warning)
        for level in LogLevel.allCases { lines.log(level, "x") }
        #expect(try await lines.closed().map { $0["level"] } == ["warning", "error"])
    }

    @Test("What comes while too much waits is dropped, and the log says how much")
    func bounded() async throws {
        let written = Lock<[UInt8]>([])
        let release = DispatchSemaphore(value: 0)
        let log = Log(
            level: .debug, formatter: LogFormatter(format: .json), clock: WallClock { 0 }, capacity: 3
        ) { bytes in
            let isFirst = written.withLock { written in
                defer { written += bytes }
                return written.isEmpty
            }
            if isFirst { release.wait() }
        }
        // Keeps the log's thread busy, so that it writes nothing between the calls below.
        log(.info, "first")
        #expect(await eventually { !written.withLock(\.isEmpty) })
        for _ in 0..<10 { log(.info, "x") }
        release.signal()
        await log.close()
        let lines = String(decoding: written.withLock { $0 }, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines.last?.contains(#""event":"log.dropped","dropped":7"#) == true)
    }

    @Test("Events of many threads come whole and all")
    func threads() async throws {
        let lines = LogLines()
        await withTaskGroup { group in
            for task in 0..<4 {
                group.addTask {
                    for index in 0..<200 { lines.log(.info, "x", [.count("n", task * 200 + index)]) }
                }
            }
        }
        let numbers = try await lines.closed().compactMap { $0["n"]?.int }
        #expect(Set(numbers) == Set(0..<800))
    }
}
