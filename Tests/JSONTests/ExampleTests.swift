import JSON
import Testing

/// The examples in the module's documentation, line by line.
@Suite("Examples of JSON", .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a text is parsed and its members are read")
    func parse() throws {
        let body = Array(#"{"title":"Done","badge":3}"#.utf8)

        let value = try JSON.parse(body, maxBytes: 4_096)
        let title = value["title"]?.string
        let badge = value["badge"]?.int

        #expect(title == "Done" && badge == 3)
    }

    @Test("a text is written")
    func write() {
        let devices = ["…d4e5f6a7", "…00112233"]

        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.name("devices")
        writer.beginArray()
        for device in devices { writer.string(device) }
        writer.endArray()
        writer.endObject()
        let body = writer.finish()

        #expect(body == Array(#"{"ok":true,"devices":["…d4e5f6a7","…00112233"]}"#.utf8))
    }
}
