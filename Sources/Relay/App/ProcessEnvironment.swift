// `environ` is a variable of C; it is read once, before any thread exists.
@preconcurrency import Glibc

/// The environment that the process was started with.
enum ProcessEnvironment {
    /// All variables.
    ///
    /// Of a name that is there twice the last counts.
    static func read() -> [String: String] {
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
