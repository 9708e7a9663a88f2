import CNghttp2

/// An ordered list of header fields in one growing buffer, so that a list costs two allocations and not two a field.
///
/// Names are lower case, pseudo-header fields (`:status`, `:path`) come first (RFC 9113, section 8.3).
package struct HeaderFields: Sendable, Equatable {
    private struct Field: Sendable, Equatable {
        var start: Int32
        var nameCount: Int32
        var valueCount: Int32
        var isIndexed: Bool
    }

    private var storage: [UInt8] = []
    private var fields: [Field] = []

    /// An empty list.
    package init() {}

    /// How many fields there are.
    package var count: Int { fields.count }

    /// The size as SETTINGS_MAX_HEADER_LIST_SIZE counts it: octets of names and values plus 32 a field
    /// (RFC 9113, section 6.5.2).
    package var listSize: Int { storage.count + 32 * fields.count }

    /// Makes room for `fieldCount` fields with `byteCount` bytes of names and values in all.
    package mutating func reserveCapacity(fieldCount: Int, byteCount: Int) {
        fields.reserveCapacity(fieldCount)
        storage.reserveCapacity(byteCount)
    }

    /// Forgets the fields from `count` on and keeps the memory.
    package mutating func truncate(to count: Int) {
        guard count < fields.count else { return }
        storage.removeSubrange(Int(fields[count].start)...)
        fields.removeSubrange(count...)
    }

    /// Adds a field.
    ///
    /// `indexed: false` sends it as a literal that no table keeps (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: StaticString, indexed: Bool = true) {
        unsafe append(Self.bytes(name), Self.bytes(value), indexed: indexed)
    }

    /// Adds a field.
    ///
    /// `indexed: false` sends it as a literal that no table keeps (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: [UInt8], indexed: Bool = true) {
        unsafe value.withUnsafeBufferPointer { unsafe append(Self.bytes(name), $0, indexed: indexed) }
    }

    /// Adds a field.
    ///
    /// `indexed: false` sends it as a literal that no table keeps (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: String, indexed: Bool = true) {
        unsafe begin(nameOf: Self.bytes(name), indexed: indexed)
        storage.append(contentsOf: value.utf8)
        endValue()
    }

    /// Adds a field whose name is not known when the program is compiled.
    package mutating func append(name: String, value: String, indexed: Bool = true) {
        var name = name
        name.withUTF8 { unsafe begin(nameOf: $0, indexed: indexed) }
        storage.append(contentsOf: value.utf8)
        endValue()
    }

    mutating func append(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, indexed: Bool = true
    ) {
        unsafe begin(nameOf: name, indexed: indexed)
        unsafe storage.append(contentsOf: value)
        endValue()
    }

    /// Begins a field whose value is appended piece by piece with `appendValue`, without a string in between.
    package mutating func begin(_ name: StaticString, indexed: Bool = true) {
        unsafe begin(nameOf: Self.bytes(name), indexed: indexed)
    }

    /// Continues the value of the last field.
    package mutating func appendValue(_ piece: String) {
        storage.append(contentsOf: piece.utf8)
        endValue()
    }

    /// Continues the value of the last field.
    package mutating func appendValue(_ piece: StaticString) {
        unsafe storage.append(contentsOf: Self.bytes(piece))
        endValue()
    }

    /// The first value of the field `name` (lower case), without copying it.
    package subscript(name: StaticString) -> ArraySlice<UInt8>? {
        let wanted = unsafe Self.bytes(name)
        for field in fields where unsafe matches(field, wanted) {
            return valueSlice(of: field)
        }
        return nil
    }

    /// The first value of the field `name` as text, if it is UTF-8.
    package func string(_ name: StaticString) -> String? {
        self[name].flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// How many fields are called `name`.
    package func count(of name: StaticString) -> Int {
        let wanted = unsafe Self.bytes(name)
        return fields.reduce(0) { unsafe matches($1, wanted) ? $0 + 1 : $0 }
    }

    /// Whether the first field `name` may be kept in a compression table; false where the peer sent it never-indexed.
    package func isIndexed(_ name: StaticString) -> Bool? {
        let wanted = unsafe Self.bytes(name)
        return fields.first { unsafe matches($0, wanted) }?.isIndexed
    }

    /// Every field in order, as text where it is UTF-8 and with replacement characters where it is not.
    package var strings: [(name: String, value: String)] {
        fields.map { field in
            let nameEnd = Int(field.start + field.nameCount)
            let name = String(decoding: storage[Int(field.start)..<nameEnd], as: UTF8.self)
            return (name, String(decoding: valueSlice(of: field), as: UTF8.self))
        }
    }

    private mutating func begin(nameOf name: UnsafeBufferPointer<UInt8>, indexed: Bool) {
        let field = Field(
            start: Int32(storage.count), nameCount: Int32(name.count), valueCount: 0, isIndexed: indexed)
        fields.append(field)
        unsafe storage.append(contentsOf: name)
    }

    private mutating func endValue() {
        let last = fields.count - 1
        guard last >= 0 else { return }
        fields[last].valueCount = Int32(storage.count) - fields[last].start - fields[last].nameCount
    }

    private func valueSlice(of field: Field) -> ArraySlice<UInt8> {
        let start = Int(field.start + field.nameCount)
        return storage[start..<(start + Int(field.valueCount))]
    }

    private func matches(_ field: Field, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard Int(field.nameCount) == name.count else { return false }
        return unsafe storage[Int(field.start)..<Int(field.start + field.nameCount)].elementsEqual(name)
    }

    private static func bytes(_ string: StaticString) -> UnsafeBufferPointer<UInt8> {
        precondition(string.hasPointerRepresentation, "a header name or value is more than one scalar")
        return unsafe UnsafeBufferPointer(start: string.utf8Start, count: string.utf8CodeUnitCount)
    }

    /// The list in the library's form; the pointers are valid during `body` only.
    func withNameValues<Result>(
        _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result
    ) -> Result {
        unsafe storage.withUnsafeBufferPointer { bytes in
            unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.count) { table in
                for (index, field) in fields.enumerated() {
                    let name = unsafe UnsafeMutablePointer(
                        mutating: bytes.baseAddress?.advanced(by: Int(field.start)))
                    let flags = field.isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
                    let entry = unsafe nghttp2_nv(
                        name: name, value: name?.advanced(by: Int(field.nameCount)),
                        namelen: Int(field.nameCount),
                        valuelen: Int(field.valueCount), flags: UInt8(flags.rawValue))
                    unsafe table.initializeElement(at: index, to: entry)
                }
                return unsafe body(UnsafePointer(table.baseAddress), fields.count)
            }
        }
    }
}

extension HeaderFields {
    /// The beginning of a response: `:status`, three digits.
    package init(status: Int) {
        self.init()
        reserveCapacity(fieldCount: 6, byteCount: 160)
        if status == 200 {
            append(":status", "200" as StaticString)
        } else {
            append(":status", String(status))
        }
    }

    /// The `:status` of a response, or nil where it is missing or no number from 100 to 999.
    package var status: Int? {
        guard let value = self[":status"], value.count == 3 else { return nil }
        var status = 0
        for byte in value {
            guard (0x30...0x39).contains(byte) else { return nil }
            status = status * 10 + Int(byte - 0x30)
        }
        return status >= 100 ? status : nil
    }
}
