/// What `--help` prints.
package enum HelpText {
    /// The whole text.
    package static var text: String {
        head + Flag.allCases.map(entry).joined() + control
    }

    private static let head = """
        apns-simulator: a strict stand-in for Apple's push service, for trying out and testing push code.

        Usage: apns-simulator [FLAG]...          Serve both environments until SIGINT or SIGTERM.
               apns-simulator key --out FILE     Make a key pair: FILE as Apple's .p8, FILE.pub for --public-key.
               apns-simulator token [--key FILE] [--key-id ID] [--team-id ID]
                                                 Print a provider token made now, signed with the key or a new one.
               apns-simulator --help | --version

        Flags:

        """

    private static let control = """

        The control API (JSON over HTTP/1.1; docs/SIMULATOR.md has the fields and examples):
          GET /health                       Whether it is served.
          GET, PUT, DELETE /tokens          Device tokens: valid, unregistered or expired, per topic and environment.
          GET, PUT, DELETE /rules           Scripted behaviour: answers, latency, resets, stalls, cut connections.
          GET, PUT, DELETE /limits          Stream limits, latency, topics, ages of provider tokens.
          GET /pushes                       What was received: ?since=N&token=HEX&limit=N&wait=SECONDS&format=text
          GET /stats, GET /connections      Counts; the open connections.
          POST /goaway, /close              GOAWAY with a reason; cut connections.
          POST /stall, /resume              Read and answer nothing any more; go on.
          POST /reset                       Back to the start.

        Exit statuses: 0 stopped by a signal, 64 wrong usage, 66 a file can't be read, 69 a port is in use,
        73 a file can't be written.

        """

    private static func entry(_ flag: Flag) -> String {
        let name = "  " + flag.text + (flag.argument.map { " " + $0 } ?? "")
        return name + String(repeating: " ", count: max(2, 32 - name.count)) + flag.summary + "\n"
    }
}
