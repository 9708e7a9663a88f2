import APNs
import Testing

@testable import Relay

@Suite("Documents")
struct DocumentTests {
    private let advice: Comment = "UPDATE_DOCS=1 swift test --filter DocumentTests writes it anew"

    @Test("docs/CONFIGURATION.md is what the table of settings says")
    func configuration() {
        let expected = ConfigurationDocument.text
        if Documents.isUpdating { Documents.write("CONFIGURATION.md", expected) }
        #expect(Documents.read("CONFIGURATION.md") == expected, advice)
    }

    @Test("The tables in docs/API.md are those of the code")
    func api() throws {
        var text = Documents.read("API.md")
        for (name, table) in [("fields", fields), ("event types", eventTypes), ("errors", errors)] {
            text = try #require(Documents.replacing(name, in: text, with: table), "no place for \(name)")
        }
        if Documents.isUpdating { Documents.write("API.md", text) }
        #expect(Documents.read("API.md") == text, advice)
    }

    @Test("docs/API.md names every route, every field of it and every error of it")
    func routes() {
        let text = Documents.read("API.md")
        for route in RouteName.allCases where route != .none {
            #expect(text.contains("## `\(route.rawValue)`"))
        }
        #expect(text.contains("first \(Bounds.deliveriesListedMax) where there are more"))
        for reason in [
            FanOut.deadlineExceeded, FanOut.invalidRegistration, FanOut.unknownBundle,
            FanOut.environmentNotAllowed, PushQueue.queueFull,
            PushQueue.queueUnavailable, PushQueue.deviceRemoved,
        ] {
            #expect(text.contains("`\(reason)`"))
        }
    }

    private var fields: String {
        Documents.table(
            ["field", "must be"], RequestField.allCases.map { ["`\($0.rawValue)`", $0.rule] })
    }

    private var eventTypes: String {
        Documents.table(
            ["eventType", "title", "body"],
            EventType.allCases.map { ["`\($0.rawValue)`", $0.defaultTitle, $0.defaultBody] })
    }

    private var errors: String {
        let rows = ErrorCode.allCases.map { code in
            [
                "\(code.status)", "`\(code.rawValue)`", code.sentence,
                code == .rateLimited ? "as long as it takes" : code.retryAfterSeconds.map { "\($0) s" } ?? "",
            ]
        }
        return Documents.table(["status", "code", "sentence", "`Retry-After`"], rows)
    }
}
