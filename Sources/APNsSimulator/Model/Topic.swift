/// The form of `apns-topic`: a bundle identifier and, for most push types, a suffix.
package enum Topic {
    /// The longest topic in bytes: the longest bundle identifier that the App Store takes, and a suffix.
    package static let bytesMax = 200

    /// Whether the text could be a topic: letters, digits, hyphens, underscores and points, no empty part.
    package static func isWellFormed(_ text: ArraySlice<UInt8>) -> Bool {
        guard !text.isEmpty, text.count <= bytesMax else { return false }
        var previous = UInt8(ascii: ".")
        for byte in text {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                break
            case UInt8(ascii: "."):
                guard previous != byte else { return false }
            default: return false
            }
            previous = byte
        }
        return previous != UInt8(ascii: ".")
    }

    /// The push type whose suffix the topic has; `nil` for a bare bundle identifier.
    package static func suffixedType(of text: ArraySlice<UInt8>) -> PushType? {
        suffixes.first { text.count > $0.bytes.count && text.suffix($0.bytes.count).elementsEqual($0.bytes) }?
            .type
    }

    /// The bundle identifier in a topic.
    package static func bundle(of text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text.dropLast(suffixedType(of: text)?.topicSuffix.utf8.count ?? 0)
    }

    private static let suffixes = PushType.allCases.filter { !$0.topicSuffix.isEmpty }.map {
        (type: $0, bytes: Array($0.topicSuffix.utf8))
    }
}
