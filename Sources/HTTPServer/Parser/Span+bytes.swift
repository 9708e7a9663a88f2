import Glibc

extension Span<UInt8> {
    /// The index of the first line feed at or after `start`.
    func firstLineFeed(from start: Int) -> Int? {
        let rest = extracting(start...)
        return rest.withUnsafeBufferPointer { bytes -> Int? in
            guard let base = bytes.baseAddress, bytes.count > 0 else { return nil }
            guard let found = memchr(base, Int32(UInt8(ascii: "\n")), bytes.count) else { return nil }
            return start + (UnsafeRawPointer(found) - UnsafeRawPointer(base))
        }
    }

    /// The index of the first byte in the range that isn't in the class; the range's end if there is none.
    @inline(__always)
    func end(of isInClass: (UInt8) -> Bool, in range: Range<Int>) -> Int {
        extracting(range).withUnsafeBufferPointer { bytes in
            var index = 0
            while index < bytes.count, isInClass(bytes[index]) { index += 1 }
            return range.lowerBound + index
        }
    }

    func copy(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBufferPointer { Array($0) }
    }

    /// Whether all bytes of a range are allowed in a field value.
    func isFieldValue(_ range: Range<Int>) -> Bool {
        extracting(range).withUnsafeBufferPointer { bytes in
            // Without branches or early exit, so that the compiler vectorises the loop.
            var forbidden: UInt8 = 0
            for byte in bytes { forbidden |= ByteClass.isFieldValue(byte) ? 0 : 1 }
            return forbidden == 0
        }
    }

    func isEqual(_ range: Range<Int>, exactly text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        let own = extracting(range)
        return text.withUTF8Buffer { text in
            for index in 0..<own.count where own[index] != text[index] { return false }
            return true
        }
    }

    /// Whether a range equals the lower-case `text`, ignoring ASCII case.
    func isEqual(_ range: Range<Int>, lowercase text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        let own = extracting(range)
        return text.withUTF8Buffer { text in
            for index in 0..<own.count where ByteClass.lowercased(own[index]) != text[index] { return false }
            return true
        }
    }

    /// Whether two ranges are equal, ignoring ASCII case.
    func isEqualIgnoringCase(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard left.count == right.count else { return false }
        let (left, right) = (extracting(left), extracting(right))
        for index in 0..<left.count
        where ByteClass.lowercased(left[index]) != ByteClass.lowercased(right[index]) { return false }
        return true
    }

    /// The range without leading and trailing spaces and tabs.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
        while start < end, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return start..<end
    }
}

extension [UInt8] {
    mutating func append(_ span: Span<UInt8>, _ range: Range<Int>) {
        span.extracting(range).withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}
