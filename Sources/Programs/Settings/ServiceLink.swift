/// Variables that Kubernetes and Docker set for a service called `relay` or `apns-…`.
package enum ServiceLink {
    /// Whether Kubernetes or Docker set this variable, such as `RELAY_PORT=tcp://10.0.0.1:8787` or
    /// `RELAY_SERVICE_HOST`.
    package static func isOne(name: String, value: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") { return true }
        if name.contains("_SERVICE_PORT_") { return true }
        let protocols = ["TCP", "UDP", "SCTP"]
        let isURL = protocols.contains { value.hasPrefix($0.lowercased() + "://") }
        if name.hasSuffix("_PORT"), isURL { return true }
        // RELAY_PORT_8787_TCP, and the same with _PROTO, _PORT and _ADDR.
        let words = name.split(separator: "_")
        guard let index = words.lastIndex(where: { protocols.contains(String($0)) }), index >= 3 else {
            return false
        }
        let tail = words[(index + 1)...]
        return words[index - 2] == "PORT" && words[index - 1].utf8.allSatisfy { (0x30...0x39).contains($0) }
            && (tail.isEmpty || tail == ["PROTO"] || tail == ["PORT"] || tail == ["ADDR"])
    }
}
