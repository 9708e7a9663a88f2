/// What the command line asks for.
package enum Invocation: Sendable {
    case serve(ServeOptions)
    case makeKey(out: String)
    case makeToken(TokenOptions)
    case help
    case version

    /// Reads the arguments, without the program's name.
    ///
    /// - Throws: Every problem at once.
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
            throw UsageProblems(["the command key needs --out FILE"])
        }
        return .makeKey(out: arguments[1])
    }
}

/// Everything that is wrong with a command line.
package struct UsageProblems: Error, Hashable, Sendable {
    package let sentences: [String]

    /// Problems, at least one.
    package init(_ sentences: [String]) { self.sentences = sentences }
}

/// What `apns-simulator token` makes a token from.
package struct TokenOptions: Hashable, Sendable {
    /// The private key's file; `nil`: a key that is thrown away.
    package var keyFile: String?
    package var keyID = "KEY1234567"
    package var teamID = "TEAM123456"

    /// A token of a key that is thrown away.
    package init() {}

    init(_ arguments: [String]) throws(UsageProblems) {
        var problems: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard ["--key", "--key-id", "--team-id"].contains(argument) else {
                problems.append("the command token has no \(argument)")
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
            problems.append("\(name) must be 10 capital letters and digits")
        }
        guard problems.isEmpty else { throw UsageProblems(problems) }
    }
}
