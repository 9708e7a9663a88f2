/// Parses `apns-topic`: a bundle identifier and, for most push types, a suffix.
package enum Topic {
    /// The longest topic in bytes: the App Store's longest bundle identifier plus a suffix.
    package static let bytesMax = 200

    /// Whether the text is well-formed: letters, digits, hyphens, underscores and dots, with no empty component.
    package static func isWellFormed(_ text: ArraySlice<UInt8>) -> Bool {
        guard (1...bytesMax).contains(text.count), text.isAll(.topic) else { return false }
        var previous = UInt8(ascii: ".")
        for byte in text {
            guard byte != UInt8(ascii: ".") || previous != byte else { return false }
            previous = byte
        }
        return previous != UInt8(ascii: ".")
    }

    /// The push type of the topic's suffix; `nil` for a bare bundle identifier.
    package static func suffixedType(of text: ArraySlice<UInt8>) -> PushType? {
        suffixedTypes.first {
            text.ends(with: $0.topicSuffix) && text.count > $0.topicSuffix.utf8CodeUnitCount
        }
    }

    /// The bundle identifier in a topic.
    package static func bundle(of text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text.dropLast(suffixedType(of: text)?.topicSuffix.utf8CodeUnitCount ?? 0)
    }

    private static let suffixedTypes = PushType.allCases.filter { $0.topicSuffix.utf8CodeUnitCount > 0 }
}
