import Glibc
import Programs

/// An error that ends the program: the message to print and the exit status.
struct ProgramError: Error {
    let status: ExitStatus
    let sentence: String

    init(_ status: ExitStatus, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }
}

/// Files given on the command line.
enum GivenFile {
    /// The largest file that ``read(_:)`` accepts, in bytes.
    private static let bytesMax = 1 << 20

    /// Reads a file of at most 1 MiB.
    static func read(_ path: String) throws(ProgramError) -> [UInt8] {
        do throws(FileError) {
            return try SmallFile.read(path, bytesMax: bytesMax)
        } catch {
            throw ProgramError(.noInput, "cannot read \(path): \(error)")
        }
    }

    /// Writes a file atomically.
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o644) throws(ProgramError) {
        do throws(FileError) {
            try SmallFile.replace(path, with: bytes, mode: mode)
        } catch {
            throw ProgramError(.cantCreate, "cannot write \(path): \(error)")
        }
    }
}
