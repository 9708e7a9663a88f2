/// The program's exit statuses, from sysexits.h.
enum ExitStatus: Int32 {
    case success = 0
    /// `EX_USAGE`: the command line is invalid.
    case usage = 64
    /// `EX_NOINPUT`: an input file can't be read or has the wrong content.
    case noInput = 66
    /// `EX_UNAVAILABLE`: a port is in use.
    case unavailable = 69
    /// `EX_CANTCREAT`: an output file can't be written.
    case cantCreate = 73
}

/// An error that ends the program: the message to print and the exit status.
struct ProgramFailure: Error {
    let status: ExitStatus
    let sentence: String

    init(_ status: ExitStatus, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }
}
