/// A parsed command line.
package enum Invocation: Sendable {
    case serve(ServeOptions)
    case makeKey(out: String)
    case makeToken(TokenOptions)
    case help
    case version

    /// Parses the arguments, without the program's name.
    ///
    /// - Throws: All problems at once.
    package static func parse(_ arguments: [String]) throws(UsageProblems) -> Invocation {
        if arguments.contains("--help") || arguments.contains("-h") || arguments.first == "help" {
            return .help
        }
        if arguments.contains("--version") { return .version }
        switch arguments.first {
        case "key": return try parseKey(Array(arguments.dropFirst()))
        case "token": return .makeToken(try TokenOptions(Array(arguments.dropFirst())))
        case "serve": return .serve(try ServeOptions(Array(arguments.dropFirst())))
        default: return .serve(try ServeOptions(arguments))
        }
    }

    private static func parseKey(_ arguments: [String]) throws(UsageProblems) -> Invocation {
        guard arguments.count == 2, arguments[0] == "--out", !arguments[1].isEmpty else {
            throw UsageProblems(["key: --out FILE is required and no other argument is accepted"])
        }
        return .makeKey(out: arguments[1])
    }
}

/// All problems with a command line.
package struct UsageProblems: Error, Hashable, Sendable {
    package let sentences: [String]

    /// - Parameter sentences: At least one problem.
    package init(_ sentences: [String]) { self.sentences = sentences }
}

/// The options of `apns-simulator token`.
package struct TokenOptions: Hashable, Sendable {
    /// The private key's file; `nil` for a throwaway key.
    package var keyFile: String?
    package var keyID = "KEY1234567"
    package var teamID = "TEAM123456"

    /// Options for a token signed with a throwaway key.
    package init() {}

    init(_ arguments: [String]) throws(UsageProblems) {
        var problems: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard ["--key", "--key-id", "--team-id"].contains(argument) else {
                problems.append("token: unknown flag or argument \(argument)")
                continue
            }
            guard let value = rest.popFirst() else {
                problems.append("\(argument) needs a value")
                continue
            }
            switch argument {
            case "--key": keyFile = value
            case "--key-id": keyID = value
            default: teamID = value
            }
        }
        for (name, id) in [("--key-id", keyID), ("--team-id", teamID)] where !ProviderToken.isIdentifier(id) {
            problems.append("\(name) must be 10 uppercase letters and digits")
        }
        guard problems.isEmpty else { throw UsageProblems(problems) }
    }
}
