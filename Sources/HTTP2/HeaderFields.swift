import CNghttp2
import Glibc

/// An ordered list of header fields in one growing buffer: two allocations per list instead of two per field.
///
/// Names are lower case; pseudo-header fields (`:status`, `:path`) come first (RFC 9113, section 8.3).
package struct HeaderFields: Sendable {
    private struct Field: Sendable {
        var nameStart: Int32
        var nameCount: Int32
        var valueStart: Int32
        var valueCount: Int32
        var isIndexed: Bool
        /// The name if it is a literal, which the library need not copy.
        var staticName: StaticString?
    }

    /// A position in a list; see ``HeaderFields/rewind(to:)``.
    package struct Mark: Sendable {
        fileprivate let fieldCount: Int
        fileprivate let byteCount: Int
    }

    private var storage: [UInt8] = []
    private var fields: [Field] = []

    /// An empty list.
    package init() {}

    /// The number of fields.
    package var count: Int { fields.count }

    /// Whether the list is empty.
    package var isEmpty: Bool { fields.isEmpty }

    /// The size as in SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113, section 6.5.2): names, values and 32 bytes per field.
    package var listSize: Int { storage.count + 32 * fields.count }

    /// Reserves memory for `fieldCount` fields with a total of `byteCount` bytes.
    package mutating func reserveCapacity(fieldCount: Int, byteCount: Int) {
        fields.reserveCapacity(fieldCount)
        storage.reserveCapacity(byteCount)
    }

    /// The current end of the list.
    package var mark: Mark { Mark(fieldCount: fields.count, byteCount: storage.count) }

    /// Removes the fields after `mark`, keeping the memory; values that `replace` has set since then are lost too.
    package mutating func rewind(to mark: Mark) {
        storage.removeSubrange(mark.byteCount...)
        fields.removeSubrange(mark.fieldCount...)
    }

    /// Removes all fields, keeping the memory.
    package mutating func removeAll() {
        guard !fields.isEmpty else { return }
        storage.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
    }

    /// Replaces the value of the field at `index` with two concatenated parts; the old bytes stay in the buffer.
    package mutating func replace(at index: Int, _ beginning: StaticString, _ rest: String) {
        fields[index].valueStart = Int32(storage.count)
        fields[index].valueCount = Int32(beginning.utf8CodeUnitCount + rest.utf8.count)
        unsafe storage.append(contentsOf: Self.bytes(beginning))
        storage.append(contentsOf: rest.utf8)
    }

    /// Appends a field.
    ///
    /// `indexed: false` sends it as a never-indexed literal (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: StaticString, indexed: Bool = true) {
        begin(name, valueCount: value.utf8CodeUnitCount, indexed: indexed)
        unsafe storage.append(contentsOf: Self.bytes(value))
    }

    /// Appends a field.
    ///
    /// `indexed: false` sends it as a never-indexed literal (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: [UInt8], indexed: Bool = true) {
        begin(name, valueCount: value.count, indexed: indexed)
        storage.append(contentsOf: value)
    }

    /// Appends a field.
    ///
    /// `indexed: false` sends it as a never-indexed literal (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: String, indexed: Bool = true) {
        append(name, "", value, indexed: indexed)
    }

    /// Appends a field whose value is a slice.
    ///
    /// `indexed: false` sends it as a never-indexed literal (RFC 7541, section 6.2.3).
    package mutating func append(_ name: StaticString, _ value: ArraySlice<UInt8>, indexed: Bool = true) {
        begin(name, valueCount: value.count, indexed: indexed)
        storage.append(contentsOf: value)
    }

    /// Appends a field whose value is the concatenation of two parts.
    ///
    /// `indexed: false` sends it as a never-indexed literal (RFC 7541, section 6.2.3).
    package mutating func append(
        _ name: StaticString, _ beginning: StaticString, _ rest: String, indexed: Bool = true
    ) {
        let count = beginning.utf8CodeUnitCount + rest.utf8.count
        begin(name, valueCount: count, indexed: indexed)
        unsafe storage.append(contentsOf: Self.bytes(beginning))
        storage.append(contentsOf: rest.utf8)
    }

    /// Appends a field with a name known only at run time.
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

    /// The first value of the field `name` (lower case), as a slice.
    package subscript(name: StaticString) -> ArraySlice<UInt8>? {
        let wanted = unsafe Self.bytes(name)
        for field in fields where unsafe matches(field, wanted) {
            return valueSlice(of: field)
        }
        return nil
    }

    /// Whether the first field `name` (lower case) has this value; creates no string.
    package func contains(_ name: StaticString, _ value: String) -> Bool {
        guard let slice = self[name] else { return false }
        return unsafe slice.withUnsafeBytes { found in
            unsafe value.utf8Span.span.bytes.withUnsafeBytes { unsafe Self.areSame(found, $0) }
        }
    }

    /// The first value of the field `name`; nil unless it is UTF-8.
    package func string(_ name: StaticString) -> String? {
        self[name].flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Calls `body` with each field's name and the range of its value, in order, without copying.
    ///
    /// The name is valid only during the call; the subscript returns the value.
    package func forEachField(_ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: Range<Int>) -> Void) {
        unsafe storage.withUnsafeBufferPointer { bytes in
            for field in fields {
                let name = Int(field.nameStart)..<Int(field.nameStart + field.nameCount)
                let value = Int(field.valueStart)..<Int(field.valueStart + field.valueCount)
                unsafe body(UnsafeBufferPointer(rebasing: bytes[name]), value)
            }
        }
    }

    /// The value in a range from ``forEachField(_:)``, as a slice.
    package subscript(range: Range<Int>) -> ArraySlice<UInt8> { storage[range] }

    /// The number of fields named `name`.
    package func count(of name: StaticString) -> Int {
        let wanted = unsafe Self.bytes(name)
        return fields.reduce(0) { unsafe matches($1, wanted) ? $0 + 1 : $0 }
    }

    /// Whether the first field `name` may be indexed; false if the peer sent it as never-indexed.
    package func isIndexed(_ name: StaticString) -> Bool? {
        let wanted = unsafe Self.bytes(name)
        return fields.first { unsafe matches($0, wanted) }?.isIndexed
    }

    /// All fields in order, with invalid UTF-8 repaired.
    package var strings: [(name: String, value: String)] {
        fields.map { field in
            let name = String(decoding: nameSlice(of: field), as: UTF8.self)
            return (name, String(decoding: valueSlice(of: field), as: UTF8.self))
        }
    }

    /// Adds a field and its name; the caller then appends a value of `valueCount` bytes.
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

    /// Passes the list in the library's format to `body`; the pointers are valid only during the call.
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
                        // A literal stays in memory and is lower case, so the library need not copy or convert it.
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
    /// Whether both lists have the same names and values in the same order.
    package static func == (left: HeaderFields, right: HeaderFields) -> Bool {
        left.count == right.count
            && zip(left.fields, right.fields).allSatisfy {
                left.nameSlice(of: $0) == right.nameSlice(of: $1)
                    && left.valueSlice(of: $0) == right.valueSlice(of: $1)
            }
    }
}

extension HeaderFields {
    /// Starts a response with its three-digit `:status`.
    package init(status: Int) {
        self.init()
        reserveCapacity(fieldCount: 6, byteCount: 160)
        if status == 200 {
            append(":status", "200" as StaticString)
        } else {
            append(":status", String(status))
        }
    }

    /// The `:status` of a response; nil if it is missing or not a number from 100 to 999.
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
