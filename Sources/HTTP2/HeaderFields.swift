import CNghttp2
import Glibc

/// An ordered list of header fields in one growing buffer, so that a list costs two allocations and not two a field.
///
/// Names are lower case, pseudo-header fields (`:status`, `:path`) come first (RFC 9113, section 8.3).
package struct HeaderFields: Sendable {
    private struct Field: Sendable {
        var nameStart: Int32
        var nameCount: Int32
        var valueStart: Int32
        var valueCount: Int32
        var isIndexed: Bool
        /// The name again where it is part of the program: the library needs no copy of it.
        var staticName: StaticString?
    }

    /// How far a list had got; see ``HeaderFields/rewind(to:)``.
    package struct Mark: Sendable {
        fileprivate let fieldCount: Int
        fileprivate let byteCount: Int
    }

    private var storage: [UInt8] = []
    private var fields: [Field] = []

    /// An empty list.
    package init() {}

    /// How many fields there are.
    package var count: Int { fields.count }

    /// Whether there is none.
    package var isEmpty: Bool { fields.isEmpty }

    /// The size as SETTINGS_MAX_HEADER_LIST_SIZE counts it: octets of names and values plus 32 a field
    /// (RFC 9113, section 6.5.2).
    package var listSize: Int { storage.count + 32 * fields.count }

    /// Makes room for `fieldCount` fields with `byteCount` bytes of names and values in all.
    package mutating func reserveCapacity(fieldCount: Int, byteCount: Int) {
        fields.reserveCapacity(fieldCount)
        storage.reserveCapacity(byteCount)
    }

    /// How far the list has got.
    package var mark: Mark { Mark(fieldCount: fields.count, byteCount: storage.count) }

    /// Forgets what came after `mark` and keeps the memory; values that `replace` gave to fields before it are lost.
    package mutating func rewind(to mark: Mark) {
        storage.removeSubrange(mark.byteCount...)
        fields.removeSubrange(mark.fieldCount...)
    }

    /// Forgets everything and keeps the memory.
    package mutating func removeAll() {
        guard !fields.isEmpty else { return }
        storage.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
    }

    /// Gives the field at `index` another value, of two parts; the old one's bytes stay in the buffer.
    package mutating func replace(at index: Int, _ beginning: StaticString, _ rest: String) {
        fields[index].valueStart = Int32(storage.count)
        fields[index].valueCount = Int32(beginning.utf8CodeUnitCount + rest.utf8.count)
        unsafe storage.append(contentsOf: Self.bytes(beginning))
        storage.append(contentsOf: rest.utf8)
    }

    /// Adds a field.
    ///
    /// `indexed: false` sends it as a literal that no table keeps (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: StaticString, indexed: Bool = true) {
        begin(name, valueCount: value.utf8CodeUnitCount, indexed: indexed)
        unsafe storage.append(contentsOf: Self.bytes(value))
    }

    /// Adds a field.
    ///
    /// `indexed: false` sends it as a literal that no table keeps (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: [UInt8], indexed: Bool = true) {
        begin(name, valueCount: value.count, indexed: indexed)
        storage.append(contentsOf: value)
    }

    /// Adds a field.
    ///
    /// `indexed: false` sends it as a literal that no table keeps (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: String, indexed: Bool = true) {
        append(name, "", value, indexed: indexed)
    }

    /// Adds a field whose value is part of something else.
    ///
    /// `indexed: false` sends it as a literal that no table keeps (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: ArraySlice<UInt8>, indexed: Bool = true) {
        begin(name, valueCount: value.count, indexed: indexed)
        storage.append(contentsOf: value)
    }

    /// Adds a field whose value has two parts, without putting them together first.
    ///
    /// `indexed: false` sends it as a literal that no table keeps (RFC 7541, section 6.2.3).
    package mutating func append(
        _ name: StaticString, _ beginning: StaticString, _ rest: String, indexed: Bool = true
    ) {
        let count = beginning.utf8CodeUnitCount + rest.utf8.count
        begin(name, valueCount: count, indexed: indexed)
        unsafe storage.append(contentsOf: Self.bytes(beginning))
        storage.append(contentsOf: rest.utf8)
    }

    /// Adds a field whose name is not known when the program is compiled.
    package mutating func append(name: String, value: String, indexed: Bool = true) {
        var name = name
        name.withUTF8 { unsafe begin($0, valueCount: value.utf8.count, indexed: indexed) }
        storage.append(contentsOf: value.utf8)
    }

    mutating func append(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, indexed: Bool = true
    ) {
        unsafe begin(name, valueCount: value.count, indexed: indexed)
        unsafe storage.append(contentsOf: value)
    }

    /// The first value of the field `name` (lower case), without copying it.
    package subscript(name: StaticString) -> ArraySlice<UInt8>? {
        let wanted = unsafe Self.bytes(name)
        for field in fields where unsafe matches(field, wanted) {
            return valueSlice(of: field)
        }
        return nil
    }

    /// Whether the first field `name` (lower case) has a value, without making text of it.
    package func contains(_ name: StaticString, _ value: String) -> Bool {
        guard let slice = self[name] else { return false }
        return unsafe slice.withUnsafeBytes { found in
            unsafe value.utf8Span.span.bytes.withUnsafeBytes { unsafe Self.areSame(found, $0) }
        }
    }

    /// The first value of the field `name` as text, if it is UTF-8.
    package func string(_ name: StaticString) -> String? {
        self[name].flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Calls `body` with each field's name and the place of its value, in order, without copying anything.
    ///
    /// The name is valid during the call only; the subscript has the value.
    package func forEachField(_ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: Range<Int>) -> Void) {
        unsafe storage.withUnsafeBufferPointer { bytes in
            for field in fields {
                let name = Int(field.nameStart)..<Int(field.nameStart + field.nameCount)
                let value = Int(field.valueStart)..<Int(field.valueStart + field.valueCount)
                unsafe body(UnsafeBufferPointer(rebasing: bytes[name]), value)
            }
        }
    }

    /// The value at a place that ``forEachField(_:)`` told, without copying it.
    package subscript(range: Range<Int>) -> ArraySlice<UInt8> { storage[range] }

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
            let name = String(decoding: nameSlice(of: field), as: UTF8.self)
            return (name, String(decoding: valueSlice(of: field), as: UTF8.self))
        }
    }

    /// Notes a field and its name; the caller appends `valueCount` bytes.
    private mutating func begin(_ name: StaticString, valueCount: Int, indexed: Bool) {
        unsafe begin(Self.bytes(name), name, valueCount: valueCount, indexed: indexed)
    }

    private mutating func begin(
        _ name: UnsafeBufferPointer<UInt8>, _ staticName: StaticString? = nil, valueCount: Int, indexed: Bool
    ) {
        fields.append(
            Field(
                nameStart: Int32(storage.count), nameCount: Int32(name.count),
                valueStart: Int32(storage.count + name.count), valueCount: Int32(valueCount),
                isIndexed: indexed, staticName: staticName))
        unsafe storage.append(contentsOf: name)
    }

    private func nameSlice(of field: Field) -> ArraySlice<UInt8> {
        storage[Int(field.nameStart)..<Int(field.nameStart + field.nameCount)]
    }

    private func valueSlice(of field: Field) -> ArraySlice<UInt8> {
        storage[Int(field.valueStart)..<Int(field.valueStart + field.valueCount)]
    }

    private func matches(_ field: Field, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe storage.withUnsafeBytes { bytes in
            let start = Int(field.nameStart)
            let found = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<(start + Int(field.nameCount))])
            return unsafe Self.areSame(found, UnsafeRawBufferPointer(name))
        }
    }

    private static func areSame(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let left = left.baseAddress, let other = right.baseAddress else { return true }
        return unsafe memcmp(left, other, right.count) == 0
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
                    let base = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress)
                    var name = unsafe base?.advanced(by: Int(field.nameStart))
                    var flags =
                        field.isIndexed ? NGHTTP2_NV_FLAG_NONE.rawValue : NGHTTP2_NV_FLAG_NO_INDEX.rawValue
                    if let staticName = field.staticName {
                        // Stays where it is, and is lower case: the library makes sure of neither.
                        unsafe name = UnsafeMutablePointer(mutating: staticName.utf8Start)
                        flags |= NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue
                    }
                    let entry = unsafe nghttp2_nv(
                        name: name, value: base?.advanced(by: Int(field.valueStart)),
                        namelen: Int(field.nameCount), valuelen: Int(field.valueCount), flags: UInt8(flags))
                    unsafe table.initializeElement(at: index, to: entry)
                }
                return unsafe body(UnsafePointer(table.baseAddress), fields.count)
            }
        }
    }
}

extension HeaderFields: Equatable {
    /// Whether both have the same names and values in the same order.
    package static func == (left: HeaderFields, right: HeaderFields) -> Bool {
        left.count == right.count
            && zip(left.fields, right.fields).allSatisfy {
                left.nameSlice(of: $0) == right.nameSlice(of: $1)
                    && left.valueSlice(of: $0) == right.valueSlice(of: $1)
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
