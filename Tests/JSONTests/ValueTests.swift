import JSON
import Testing

@Suite("JSON values", .timeLimit(.minutes(2)))
struct ValueTests {
    @Test("a number is converted only without loss")
    func numbers() throws {
        func number(_ text: String) throws -> JSON.Value { try parse(utf8(text)) }
        #expect(try number("42").int == 42)
        #expect(try number("-0").int == 0)
        #expect(try number("9223372036854775807").int == .max)
        #expect(try number("-9223372036854775808").int == .min)
        #expect(try number("9223372036854775808").int == nil)
        #expect(try number("1.0").int == nil)
        #expect(try number("1e2").int == nil)
        #expect(try number("1e2").double == 100)
        #expect(try number("-0.5").double == -0.5)
        #expect(try number("1e400").double == nil)
        #expect(JSON.Number(1.5)?.text == "1.5")
        #expect(JSON.Number(.nan) == nil)
        #expect(JSON.Number(-.infinity) == nil)
    }

    @Test("accessors of other types return nil")
    func accessors() {
        let values: [JSON.Value] = [nil, true, 1, "text", [1], ["a": 1]]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
        #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil])
        #expect(values.map(\.int) == [nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.double) == [nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.string) == [nil, nil, nil, "text", nil, nil])
        #expect(values.map(\.array) == [nil, nil, nil, nil, [1], nil])
        #expect(values.map { $0["a"] } == [nil, nil, nil, nil, nil, 1])
        #expect(values.map { $0["b"] } == [nil, nil, nil, nil, nil, nil])
    }

    @Test("an object keeps its order and compares names by bytes")
    func objects() {
        var object = JSON.Object()
        object["b"] = 1
        object["a"] = 2
        object["K"] = 3
        #expect(object["\u{212A}"] == nil)  // KELVIN SIGN equals K for Swift's ==
        object["\u{212A}"] = 4
        object["b"] = 5
        object["a"] = nil
        object["absent"] = nil
        #expect(object.members.map(\.name.utf8.count) == [1, 1, 3])
        #expect(object.members.map(\.value) == [5, 3, 4])
    }

    @Test("strings that differ only in normalisation are different values")
    func bytewiseEquality() {
        #expect(JSON.Value.string("\u{E9}") != .string("e\u{301}"))
        #expect(JSON.Value.object(JSON.Object()) == [:])
        #expect(["a": 1] as JSON.Value != ["a": 2])
        #expect(["a": 1, "b": 2] as JSON.Value != ["b": 2, "a": 1])
    }
}
