/// The header fields of a message, in their order, as bytes and ranges: a `String` is made only of what is asked for.
///
/// Names are compared without regard to ASCII case. A parsed request's fields lie in the bytes of its head as they
/// came; a response's are appended one by one.
package struct Headers: Sendable {
    /// Where one field lies in `bytes`; the value is without the white space around it.
    struct Field: Sendable {
        var name: Range<UInt32>
        var value: Range<UInt32>
    }

    /// What most responses need, so that they allocate once.
    private static let expectedBytes = 96
    private static let expectedFields = 4

    var bytes: [UInt8]
    var fields: [Field]

    /// No fields.
    package init() {
        bytes = []
        fields = []
    }

    /// The given fields, in that order; see `append(_:_:)`.
    package init(_ pairs: [(name: String, value: String)]) {
        self.init()
        for pair in pairs { append(pair.name, pair.value) }
    }

    init(bytes: [UInt8], fields: [Field]) {
        self.bytes = bytes
        self.fields = fields
    }

    /// How many fields there are; a name that comes twice counts twice.
    package var count: Int { fields.count }

    /// The value of the first field of that name, invalid UTF-8 repaired; nil when there is none.
    package subscript(_ name: String) -> String? {
        bytes(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of the value of the first field of that name; nil when there is none.
    package func bytes(of name: String) -> ArraySlice<UInt8>? {
        for field in fields where matches(field, name) {
            return slice(field.value)
        }
        return nil
    }

    /// The values of all fields of that name, in their order.
    package func values(of name: String) -> [String] {
        fields.filter { matches($0, name) }.map { String(decoding: slice($0.value), as: UTF8.self) }
    }

    /// Every field as a pair of strings, the name as it was written; for tests and diagnostics.
    package var pairs: [(name: String, value: String)] {
        fields.map {
            (
                String(decoding: slice($0.name), as: UTF8.self),
                String(decoding: slice($0.value), as: UTF8.self)
            )
        }
    }

    /// Appends a field.
    ///
    /// `name` is a constant of the program and must be a token (RFC 9110, section 5.6.2). `value` may come from anywhere:
    /// control characters in it become spaces (RFC 9110, section 5.5), so no value can end its line.
    package mutating func append(_ name: String, _ value: String) {
        if fields.isEmpty {
            bytes.reserveCapacity(Self.expectedBytes)
            fields.reserveCapacity(Self.expectedFields)
        }
        let nameStart = UInt32(bytes.count)
        bytes.append(contentsOf: name.utf8)
        let valueStart = UInt32(bytes.count)
        let isToken = bytes[Int(nameStart)...].allSatisfy(ByteClass.isToken)
        precondition(valueStart > nameStart && isToken, "header name is not a token")
        bytes.append(contentsOf: value.utf8)
        for index in Int(valueStart)..<bytes.count where !ByteClass.isFieldValue(bytes[index]) {
            bytes[index] = UInt8(ascii: " ")
        }
        let end = UInt32(bytes.count)
        fields.append(Field(name: nameStart..<valueStart, value: valueStart..<end))
    }

    /// Removes every field of that name.
    package mutating func remove(_ name: String) {
        let gone = fields.filter { matches($0, name) }
        guard !gone.isEmpty else { return }
        let copy = self
        fields.removeAll { field in copy.matches(field, name) }
    }

    func slice(_ range: Range<UInt32>) -> ArraySlice<UInt8> {
        bytes[Int(range.lowerBound)..<Int(range.upperBound)]
    }

    private func matches(_ field: Field, _ name: String) -> Bool {
        let utf8 = name.utf8
        guard field.name.count == utf8.count else { return false }
        var index = Int(field.name.lowerBound)
        for byte in utf8 {
            guard ByteClass.lowercased(bytes[index]) == ByteClass.lowercased(byte) else { return false }
            index += 1
        }
        return true
    }
}
