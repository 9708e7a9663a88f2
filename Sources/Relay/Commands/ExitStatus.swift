/// How the program ends, in the numbers of sysexits.h.
enum ExitStatus: Int32, Error, Sendable {
    /// All went well.
    case success = 0
    /// `relay health`: the relay does not serve. `relay check`: something keeps pushes from arriving. `relay send`: nothing
    /// was sent.
    case unhealthy = 1
    /// `EX_USAGE`: the command line makes no sense.
    case usage = 64
    /// `EX_DATAERR`: a database holds other data than it should for what was asked.
    case data = 65
    /// `EX_UNAVAILABLE`: something that is needed can't be had: the database, the port.
    case unavailable = 69
    /// `EX_SOFTWARE`: a defect of the program.
    case software = 70
    /// `EX_IOERR`: what was asked for could not be printed.
    case output = 74
    /// `EX_CONFIG`: the configuration is wrong.
    case configuration = 78
    /// A command that SIGTERM or SIGINT has ended, or a relay at the second one: not everything in flight was finished.
    case interrupted = 130
}
