// `environ` is a C variable; it is read once, before any thread exists.
@preconcurrency import Glibc

/// The environment that the process was started with.
package enum ProcessEnvironment {
    /// All variables.
    ///
    /// If a name occurs twice, the last one counts.
    package static func read() -> [String: String] {
        var variables: [String: String] = [:]
        guard var next = Optional(environ) else { return variables }
        while let entry = next.pointee {
            let parts = String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            next = next.successor()
        }
        return variables
    }
}
