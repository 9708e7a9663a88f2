internal import CZlib

/// The gzip format (RFC 1952), using zlib.
package enum Gzip {
    /// Whether a content coding is gzip (RFC 9110, section 8.4.1.3).
    package static func isName(_ coding: String) -> Bool { coding.lowercased() == "gzip" }

    /// Compresses bytes; `nil` if the result isn't smaller.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        let result = unsafe [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
            count = unsafe relay_gzip(bytes, bytes.count, buffer.baseAddress)
        }
        return result.isEmpty ? nil : result
    }

    /// The content of a compressed body; `nil` if it isn't exactly one complete member or exceeds `bytesMax` bytes.
    ///
    /// It never decodes more than `bytesMax` bytes, so a small body can't take up much memory.
    package static func content(of body: [UInt8], bytesMax: Int) -> [UInt8]? {
        var isWhole = false
        let content = unsafe [UInt8](unsafeUninitializedCapacity: bytesMax) { buffer, count in
            isWhole = unsafe relay_gunzip(body, body.count, buffer.baseAddress, bytesMax, &count) == 1
        }
        return isWhole ? content : nil
    }
}
