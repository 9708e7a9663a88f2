import Foundation
import JSON
import OwnThread
import Testing

/// SplitMix64: the same numbers for the same seed on every machine.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension JSON.Value {
    /// A random value of any type.
    static func random(depth: Int, using generator: inout SeededGenerator) -> JSON.Value {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &generator) {
        case 0: return nil
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .int(Int.random(in: -1000...1000, using: &generator))
        case 3:
            return JSON.Number(Double.random(in: -1e10...1e10, using: &generator)).map(JSON.Value.number)
                ?? nil
        case 4, 5: return .string(randomText(using: &generator))
        case 6:
            return .array(
                (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                    random(depth: depth - 1, using: &generator)
                })
        default:
            var object = JSON.Object()
            for _ in 0..<Int.random(in: 0...20, using: &generator) {
                object[randomText(using: &generator)] = random(depth: depth - 1, using: &generator)
            }
            return .object(object)
        }
    }

    private static func randomText(using generator: inout SeededGenerator) -> String {
        let alphabet = Array(
            "abcdefghij \"\\/\n\t\u{0}\u{1F}\u{7F}é\u{301}€\u{2028}\u{FFFD}😀👩‍👧".unicodeScalars)
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...24, using: &generator) {
            if let scalar = alphabet.randomElement(using: &generator) { text.append(scalar) }
        }
        return String(text)
    }

    /// Whether the value contains a number outside a double's range.
    var hasHugeNumber: Bool {
        switch self {
        case .number(let number): number.double == nil
        case .array(let elements): elements.contains(where: \.hasHugeNumber)
        case .object(let object): object.members.contains(where: \.value.hasHugeNumber)
        default: false
        }
    }

    /// Whether Foundation parsed the same value.
    func isSame(as foundation: Any) -> Bool {
        switch self {
        case .null: return foundation is NSNull
        case .bool(let value): return (foundation as? NSNumber)?.boolValue == value
        case .number(let number):
            guard let mine = number.double, let theirs = (foundation as? NSNumber)?.doubleValue else {
                return false
            }
            // Foundation parses some numbers through NSDecimalNumber, which loses the last bits.
            return abs(mine - theirs) <= abs(mine) * 1e-12
        case .string(let text):
            return (foundation as? String).map { Array($0.utf8) == Array(text.utf8) } ?? false
        case .repairedString: return false
        case .array(let elements):
            guard let others = foundation as? [Any], others.count == elements.count else { return false }
            return zip(elements, others).allSatisfy { $0.isSame(as: $1) }
        case .object(let object):
            guard let others = foundation as? [String: Any] else { return false }
            // Foundation's dictionary merges names that differ only in normalisation.
            return object.members.allSatisfy { member in
                object.members.count(where: { $0.name == member.name }) > 1
                    || others[member.name].map(member.value.isSame) ?? false
            }
        }
    }
}

@Suite("Properties of parsing and writing JSON", .timeLimit(.minutes(2)), .ownThread)
struct PropertyTests {
    @Test(
        "written values are read back unchanged by this parser and by Foundation", arguments: 0..<20)
    func roundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        for _ in 0..<50 {
            let value = JSON.Value.random(depth: 4, using: &generator)
            let bytes = value.encoded()
            #expect(try parse(bytes) == value)
            #expect(try parse(bytes).encoded() == bytes)
            let foundation = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            #expect(value.isSame(as: foundation))
        }
    }

    @Test("Foundation's output is accepted", arguments: 0..<10)
    func readsFoundation(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        for _ in 0..<50 {
            let value = JSON.Value.random(depth: 4, using: &generator)
            let foundation = try JSONSerialization.jsonObject(
                with: Data(value.encoded()), options: .fragmentsAllowed)
            let written = try JSONSerialization.data(
                withJSONObject: foundation, options: [.fragmentsAllowed, .prettyPrinted])
            #expect(try parse(Array(written)).isSame(as: foundation))
        }
    }

    /// Input that this parser deliberately rejects although Foundation accepts it.
    private func isStricter(_ error: JSON.ParseError, _ bytes: [UInt8]) -> Bool {
        // Foundation interprets a NUL among the first bytes as UTF-16 or UTF-32.
        if bytes.prefix(4).contains(0) { return true }
        return switch error.reason {
        case .duplicateName, .tooDeep: true
        case .unexpectedByte: isTrailingComma(bytes, error.offset)
        default: false
        }
    }

    private func isTrailingComma(_ bytes: [UInt8], _ offset: Int) -> Bool {
        let before = bytes[..<offset].last { !utf8(" \t\r\n").contains($0) }
        return utf8("]}").contains(bytes[offset]) && before == UInt8(ascii: ",")
    }

    @Test(
        "a damaged text is judged like Foundation does, except for duplicates, depth and trailing commas",
        arguments: 0..<20)
    func mutations(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed &+ 1000)
        var accepted = 0
        var refused = 0
        for _ in 0..<400 {
            var bytes = JSON.Value.random(depth: 2, using: &generator).encoded()
            for _ in 0..<Int.random(in: 0...2, using: &generator) { mutate(&bytes, using: &generator) }
            let foundation = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            let validated = Result { () throws(JSON.ParseError) in try JSON.validate(bytes, maxBytes: 1 << 20)
            }
            switch Result(catching: { () throws(JSON.ParseError) in try parse(bytes) }) {
            case .success(let value):
                accepted += 1
                #expect(validated.failure == nil)
                // Foundation rejects numbers outside a double's range.
                let isSame = foundation.map(value.isSame) ?? value.hasHugeNumber
                #expect(isSame, "\(String(decoding: bytes, as: UTF8.self))")
                #expect(try parse(value.encoded()) == value)
            case .failure(let error):
                refused += 1
                #expect(validated.failure == error)
                #expect((0...bytes.count).contains(error.offset))
                let isRefused = foundation == nil || isStricter(error, bytes)
                #expect(isRefused, "\(error): \(String(decoding: bytes, as: UTF8.self))")
            }
        }
        #expect(accepted > 50 && refused > 50)
    }

    @Test("every prefix of an object is rejected as ending too early")
    func prefixes() throws {
        let bytes = utf8(#"{"a":[1.5e3,true,null,"é😀\u00e9\n"],"b":{"c":false}}"#)
        _ = try parse(bytes)
        for count in 0..<bytes.count {
            let error = #expect(throws: JSON.ParseError.self) { try parse(Array(bytes[..<count])) }
            #expect(
                error?.reason == .unexpectedEnd || error?.reason == .invalidUTF8
                    || error?.reason == .invalidEscape)
        }
    }

    private func mutate(_ bytes: inout [UInt8], using generator: inout SeededGenerator) {
        let interesting: [UInt8] =
            utf8(#"{}[]",:\/tfnu0159-+.eE '#"#) + [0, 9, 10, 31, 127, 128, 0xC0, 0xE2, 0xED, 0xF0, 0xFF]
        let byte = interesting.randomElement(using: &generator) ?? 0
        let index = Int.random(in: 0...bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes.insert(byte, at: index)
        case 1 where index < bytes.count: bytes[index] = byte
        case 2 where index < bytes.count: bytes.remove(at: index)
        case 3:
            let end = Int.random(in: index...bytes.count, using: &generator)
            bytes.append(contentsOf: bytes[index..<end])
        default: bytes.append(byte)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
