/// The program's exit statuses, numbered as in sysexits.h.
enum ExitStatus: Int32, Error, Sendable {
    /// Success.
    case success = 0
    /// `relay health`: the relay doesn't serve; `relay check`: a check failed; `relay send`: nothing was sent.
    case unhealthy = 1
    /// `EX_USAGE`: invalid command line.
    case usage = 64
    /// `EX_DATAERR`: a database contains other data than the command requires.
    case data = 65
    /// `EX_UNAVAILABLE`: the database, the port or another requirement is unavailable.
    case unavailable = 69
    /// `EX_SOFTWARE`: an internal error.
    case software = 70
    /// `EX_IOERR`: the output couldn't be written.
    case output = 74
    /// `EX_CONFIG`: invalid configuration.
    case configuration = 78
    /// A command ended by SIGTERM or SIGINT, or a relay ended by the second one with requests still in flight.
    case interrupted = 130
}
