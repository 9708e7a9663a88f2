/// The names of a pairing's members, and a check for names that are probably misspelt.
///
/// Unknown members are allowed, since later versions may add some. But a member that looks like a known one means that
/// the link is damaged, and ignoring it would lose its value, above all the key.
enum PairingMembers {
    private static let names = ["key", "relaySecret", "relayURL", "hosts", "serverID"]

    /// The name that a member of the object was probably meant to have; `nil` if all are known or clearly different.
    static func misspelt(in json: JSONValue) -> String? {
        guard case .object(let members) = json else { return nil }
        for member in members where !["v", "code"].contains(member.name) && !names.contains(member.name) {
            let given = folded(member.name)
            if member.value.string.flatMap(PairingSecret.init(base64URL:)) != nil { return "key" }
            if given.contains("key") { return "key" }
            if let name = names.first(where: { isNear(given, folded($0)) }) { return name }
        }
        return nil
    }

    // Keeps only the letters, so that quotes and spaces don't hide a name.
    private static func folded(_ name: String) -> [Character] { name.lowercased().filter(\.isLetter) + [] }

    /// Whether two texts are equal, or differ in one letter or in two adjacent letters that are swapped.
    private static func isNear(_ one: [Character], _ other: [Character]) -> Bool {
        var (a, b) = (one[...], other[...])
        while let first = a.first, first == b.first {
            a.removeFirst()
            b.removeFirst()
        }
        while let last = a.last, last == b.last {
            a.removeLast()
            b.removeLast()
        }
        return max(a.count, b.count) <= 1 || a.count == 2 && b.count == 2 && a.elementsEqual(b.reversed())
    }
}
