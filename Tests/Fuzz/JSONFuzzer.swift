import JSON

/// Parses a text, writes the value and parses it again: the value stays the same, and validation agrees with parsing.
func fuzzJSON(_ input: [UInt8]) {
    let bytesMax = 4096
    let depthMax = 16
    let value = try? JSON.parse(input, maxBytes: bytesMax, maxDepth: depthMax)
    let isValid = (try? JSON.validate(input, maxBytes: bytesMax, maxDepth: depthMax)) != nil
    require((value != nil) == isValid, "validation and parsing disagree")
    let repaired = try? JSON.parse(
        input, maxBytes: bytesMax, maxDepth: depthMax, loneSurrogates: .replaced)
    guard let value else {
        // Only lone surrogates can make the difference. They are replaced, so the value can be written.
        if let repaired { _ = rewritten(repaired) }
        return
    }
    require(repaired == value, "replacing lone surrogates changes a text that has none")
    require(rewritten(value) == value, "writing changes the value")
}

/// The value after it was written and parsed again.
private func rewritten(_ value: JSON.Value) -> JSON.Value {
    let written = value.encoded()
    // The writer's escapes may be longer than the input's.
    guard let again = try? JSON.parse(written, maxBytes: .max) else {
        fatalError("a written value can't be parsed")
    }
    require(again.encoded() == written, "writing a value twice gives different bytes")
    return again
}
