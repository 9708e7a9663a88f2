@preconcurrency import Glibc

var environment: [String: String] = [:]
var next = environ
while let entry = next?.pointee {
    let text = String(cString: entry)
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
    next = next?.successor()
}
exit(Program.run(arguments: Array(CommandLine.arguments.dropFirst()), environment: environment).rawValue)
