internal import Glibc

/// Reads `Retry-After` (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// The number of seconds to wait, read from a number or computed from a date; `nil` if the text is neither.
    static func seconds(_ text: String, at epochSeconds: Int64) -> Int? {
        if text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) { return Int(text) }
        var date = unsafe tm()
        guard let rest = unsafe strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &date),
            unsafe rest.pointee == 0
        else { return nil }
        return Int(clamping: Int64(unsafe timegm(&date)) - epochSeconds)
    }
}
