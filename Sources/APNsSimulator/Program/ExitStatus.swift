/// How the program ends, in the numbers of sysexits.h.
enum ExitStatus: Int32 {
    /// All went well.
    case success = 0
    /// `EX_USAGE`: the command line makes no sense.
    case usage = 64
    /// `EX_NOINPUT`: a file that was named can't be read or holds something else.
    case noInput = 66
    /// `EX_UNAVAILABLE`: a port is taken.
    case unavailable = 69
    /// `EX_CANTCREAT`: a file can't be written.
    case cantCreate = 73
}

/// Why the program can't do what it was asked to: a sentence, and the status to end with.
struct ProgramFailure: Error {
    let status: ExitStatus
    let sentence: String

    init(_ status: ExitStatus, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }
}
