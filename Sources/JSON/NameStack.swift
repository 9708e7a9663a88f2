/// Detects duplicate names in the open objects by comparing unescaped bytes.
///
/// Names are kept as ranges of the text. In a small object, each name is compared with every other; for a large one, a
/// set is used, whose hash is seeded per process, so that hostile input can't make it slow.
struct NameStack {
    private var tokens: [StringToken] = []
    private var sets: [NameSet] = []

    private static let linearMax = 16

    private struct NameSet {
        var base: Int
        var names: Set<Name>
    }

    private struct Name: Hashable {
        var text: String

        static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }

        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    /// Opens an object; pass the result to `insert` and `close`.
    func open() -> Int { tokens.count }

    /// Adds a name to the object opened at `base`; false if the object already has it.
    mutating func insert(_ token: StringToken, base: Int, _ bytes: RawSpan) -> Bool {
        if tokens.count - base >= Self.linearMax { return insertIntoSet(token, base: base, bytes) }
        for index in base..<tokens.count where bytes.isSameText(tokens[index], token) { return false }
        tokens.append(token)
        return true
    }

    /// Closes the object opened at `base`.
    mutating func close(base: Int) {
        tokens.removeSubrange(base...)
        if let last = sets.last, last.base == base { sets.removeLast() }
    }

    private mutating func insertIntoSet(_ token: StringToken, base: Int, _ bytes: RawSpan) -> Bool {
        if sets.last?.base != base {
            let names = tokens[base...].map { Name(text: bytes.text($0)) }
            sets.append(NameSet(base: base, names: Set(names)))
        }
        return sets[sets.count - 1].names.insert(Name(text: bytes.text(token))).inserted
    }
}

extension RawSpan {
    fileprivate func isSameText(_ left: StringToken, _ right: StringToken) -> Bool {
        if left.hasEscapes || right.hasEscapes { return text(left).hasSameBytes(as: text(right)) }
        guard left.range.count == right.range.count else { return false }
        for index in 0..<left.range.count
        where byte(left.range.lowerBound + index) != byte(right.range.lowerBound + index) {
            return false
        }
        return true
    }
}
