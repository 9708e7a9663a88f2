/// The header fields of a message in order, stored as bytes; a `String` is created only on access.
///
/// Names are compared ignoring ASCII case. A parsed request's fields are ranges of the received head; a response's
/// fields are appended one by one.
package struct Headers: Sendable {
    /// The position of one field in `bytes`; the value excludes surrounding white space.
    struct Field: Sendable {
        var name: Range<UInt32>
        var value: Range<UInt32>
    }

    /// Enough for most responses, so that they allocate once.
    private static let expectedBytes = 96
    private static let expectedFields = 4

    var bytes: [UInt8]
    var fields: [Field]

    /// Creates an empty list.
    package init() {
        bytes = []
        fields = []
    }

    /// Creates fields in the given order; see `append(_:_:)`.
    package init(_ pairs: [(name: String, value: String)]) {
        self.init()
        for pair in pairs { append(pair.name, pair.value) }
    }

    init(bytes: [UInt8], fields: [Field]) {
        self.bytes = bytes
        self.fields = fields
    }

    /// The number of fields, counting repeated names.
    package var count: Int { fields.count }

    /// The first value of a field, with invalid UTF-8 repaired; nil if absent.
    package subscript(_ name: String) -> String? {
        bytes(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of the first value of a field; nil if absent.
    package func bytes(of name: String) -> ArraySlice<UInt8>? {
        for field in fields where matches(field, name) {
            return slice(field.value)
        }
        return nil
    }

    /// All values of a field, in order.
    package func values(of name: String) -> [String] {
        fields.filter { matches($0, name) }.map { String(decoding: slice($0.value), as: UTF8.self) }
    }

    /// All fields as strings, with names as written; for tests and diagnostics.
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
    /// `name` must be a token (RFC 9110, section 5.6.2) and a constant in the program. `value` may be untrusted:
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

    /// Removes all fields with a name.
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
