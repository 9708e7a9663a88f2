internal import CQrencode

/// A QR code (ISO/IEC 18004): a square of dark and light modules.
package struct QRCode: Sendable, Equatable {
    /// The light border that readers need, in modules (section 9.1).
    package static let quietZone = 4

    /// The number of modules per side, without the border.
    package let size: Int
    // Row by row.
    private let isDark: [Bool]

    /// Creates the smallest code for a text in UTF-8; `nil` if the text is empty or longer than 2,953 bytes.
    ///
    /// Uses the lowest level of error correction: a code on a screen doesn't get damaged, and fewer modules can be
    /// shown larger.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let code = unsafe QRcode_encodeData(Int32(bytes.count), bytes, 0, QR_ECLEVEL_L) else {
            return nil
        }
        defer { unsafe QRcode_free(code) }
        let size = Int(unsafe code.pointee.width)
        // The lowest bit of each byte is the colour.
        isDark = (0..<size * size).map { unsafe code.pointee.data[$0] & 1 == 1 }
        self.size = size
    }

    /// The number of modules per side, with the border.
    package var outerSize: Int { size + 2 * Self.quietZone }

    /// Whether a module is dark; positions count from the border's upper left corner.
    ///
    /// Modules outside the code are light.
    package func isDark(column: Int, row: Int) -> Bool {
        let (x, y) = (column - Self.quietZone, row - Self.quietZone)
        guard (0..<size).contains(x), (0..<size).contains(y) else { return false }
        return isDark[y * size + x]
    }
}
