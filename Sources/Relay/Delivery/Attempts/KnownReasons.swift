import APNs

/// The allowed values of the `reason` label: APNs' reasons, connection failures and the relay's own reasons.
enum KnownReasons {
    /// Stands for every other value.
    static let other = "other"

    /// Every value once, ``other`` first.
    static let words: [String] = {
        var words = [other]
        let all =
            Reason.Documented.allCases.map(\.name) + Unreachable.Cause.allCases.map(\.rawValue)
            + FailureReason.all
        for word in all where !words.contains(word) { words.append(word) }
        return words
    }()

    private static let numbers = Dictionary(uniqueKeysWithValues: words.enumerated().map { ($1, $0) })

    /// The index of a value in ``words``; ``other``'s if it isn't listed.
    static func number(of word: String) -> Int { numbers[word] ?? 0 }
}
