/// The output of `--help`.
package enum HelpText {
    /// The complete help text.
    package static var text: String {
        head + Flag.allCases.map(entry).joined() + control
    }

    private static let head = """
        apns-simulator: a strict local simulator of Apple's push service (APNs), for developing and testing push code.

        Usage: apns-simulator [FLAG]...          Serve production and sandbox until SIGINT or SIGTERM.
               apns-simulator key --out FILE     Create a key pair: FILE (like a .p8) and FILE.pub.
               apns-simulator token [--key FILE] [--key-id ID] [--team-id ID]
                                                 Print a new provider token, signed with the key or a throwaway key.
               apns-simulator --help | --version

        Flags:

        """

    private static let control = """

        Control API (JSON over HTTP/1.1; see docs/reference/simulator.md for fields and examples):
          GET /health                       Check that the simulator is running.
          GET, PUT, DELETE /tokens          Device tokens: valid, unregistered or expired, per topic and environment.
          GET, PUT, DELETE /rules           Rules: responses, latency, stream resets, stalls, closed connections.
          GET, PUT, DELETE /limits          Stream limits, latency, topics, provider token ages.
          GET /pushes                       Received pushes: ?since=N&token=HEX&limit=N&wait=SECONDS&format=text
          GET /stats, GET /connections      Counters; open connections.
          POST /goaway, /close              Send GOAWAY with a reason; close connections.
          POST /stall, /resume              Stop reading and answering; resume.
          POST /streams                     Change the stream limit of open connections.
          POST /reset                       Restore the initial state.

        Exit status: 0 stopped by a signal, 64 usage error, 66 cannot read a file, 69 port in use,
        73 cannot write a file.

        """

    private static func entry(_ flag: Flag) -> String {
        let name = "  " + flag.text + (flag.argument.map { " " + $0 } ?? "")
        return name + String(repeating: " ", count: max(2, 32 - name.count)) + flag.summary + "\n"
    }
}
