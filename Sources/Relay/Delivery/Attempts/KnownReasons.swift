import APNs
import WebPush

/// The allowed values of the `reason` label: push services' reasons, connection failures and the relay's own reasons.
enum KnownReasons {
    /// Stands for every other value.
    static let other = "other"

    /// All distinct values, ``other`` first.
    static let words: [String] = {
        var words = [other]
        let all =
            APNs.Reason.Documented.allCases.map(\.name) + APNs.Unreachable.Cause.allCases.map(\.rawValue)
            + FailureReason.all + WebPush.Reason.allCases.map(\.rawValue)
            + WebPush.Unreachable.Cause.allCases.map(\.rawValue)
        for word in all where !words.contains(word) { words.append(word) }
        return words
    }()

    private static let numbers = Dictionary(uniqueKeysWithValues: words.enumerated().map { ($1, $0) })

    /// The index of a value in ``words``; the index of ``other`` if the value isn't listed.
    static func number(of word: String) -> Int { numbers[word] ?? 0 }
}
