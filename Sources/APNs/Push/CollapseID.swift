/// Identifies pushes that replace each other on the device (`apns-collapse-id`).
package struct CollapseID: Hashable, Sendable {
    /// APNs' limit in bytes.
    package static let bytesMax = 64

    /// The identifier, safe to use in a header.
    package let text: String

    /// Accepts 1 to 64 printable ASCII characters without spaces; `nil` for anything else.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Self.bytesMax, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else {
            return nil
        }
        self.text = text
    }
}
