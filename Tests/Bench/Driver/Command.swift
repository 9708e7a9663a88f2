import Glibc

private let usage = """
    usage: Bench loop --port N       serves one fixed answer straight from a channel, until it is killed
           Bench client --port N --ca FILE --key FILE --tokens FILE --in-flight N --count N --connections N
                                     sends pushes and prints what it took
           Bench webpush --port N --ca FILE --in-flight N --count N --connections N
                                     encrypts messages, sends pushes and prints what both took
           Bench storage --url URL --rows N --in-flight N --count N --kind KIND
                                     makes calls to a database and prints what they took
           Bench claims --url URL --claimers N --limit N --secrets N --count N
                                     fills a queue, claims it and prints what that took
           Bench prune --url URL --before TIME --way new|fixed|devices|locks [--inserts N]
                                     removes rows from before a time, with N new ones a second meanwhile, and
                                     prints what it took
    """

/// Runs the part of the driver that the command line selects and returns the exit status.
func runCommand(_ arguments: [String]) -> Int32 {
    do {
        let options = try Options(arguments.dropFirst(2))
        switch arguments.dropFirst().first {
        case "loop": try serveFixedAnswer(options)
        case "client": try sendPushes(options)
        case "webpush": try sendWebPushes(options)
        case "storage": try loadStorage(options)
        case "claims": try claimPushes(options)
        case "prune": try loadPruning(options)
        default: throw BenchError.usage("which part?")
        }
        return 0
    } catch {
        complain("\(error)\n\(usage)\n")
        return 64
    }
}

/// Writes to standard error.
func complain(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
}
