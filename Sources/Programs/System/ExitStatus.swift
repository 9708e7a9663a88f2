/// The exit statuses of all programs, numbered as in sysexits.h.
package enum ExitStatus: Int32, Error, Sendable {
    /// Success.
    case success = 0
    /// A check failed, or nothing was sent.
    case failed = 1
    /// `EX_USAGE`: invalid command line.
    case usage = 64
    /// `EX_DATAERR`: the data doesn't meet the command's requirements.
    case data = 65
    /// `EX_NOINPUT`: an input file can't be read or has the wrong content.
    case noInput = 66
    /// `EX_UNAVAILABLE`: a database, a port or another requirement is unavailable.
    case unavailable = 69
    /// `EX_SOFTWARE`: an internal error.
    case software = 70
    /// `EX_CANTCREAT`: a file can't be created.
    case cantCreate = 73
    /// `EX_IOERR`: the output couldn't be written.
    case output = 74
    /// `EX_CONFIG`: invalid configuration.
    case configuration = 78
    /// SIGTERM or SIGINT ended the command before it was complete.
    case interrupted = 130
}
