import JSON
import Storage

/// Identifiers made from hashes.
enum Fingerprint {
    /// The first hexadecimal digits of a text's SHA-256.
    static func hex(_ text: String, count: Int) -> String {
        String(Digest256(of: Array(text.utf8)).hex.prefix(count))
    }

    /// A hash of some members of an object, regardless of their order.
    static func hex(_ value: JSON.Value, members: [String], count: Int) -> String {
        let kept = members.compactMap { name in value[name].map { (name, sorted($0)) } }
        return hex(String(decoding: object(kept).encoded(), as: UTF8.self), count: count)
    }

    private static func sorted(_ value: JSON.Value) -> JSON.Value {
        if let values = value.array { return .array(values.map(sorted)) }
        guard let members = value.object?.members else { return value }
        return object(members.sorted { $0.name < $1.name }.map { ($0.name, sorted($0.value)) })
    }

    private static func object(_ members: [(String, JSON.Value)]) -> JSON.Value {
        var object = JSON.Object()
        for (name, value) in members { object[name] = value }
        return .object(object)
    }
}
