import Glibc
import Testing

/// A pseudo-terminal of this user, in which a test types.
final class Terminal {
    private let master: Int32
    private let slave: Int32
    /// The terminal's device, such as `/dev/pts/3`.
    let path: String

    init() throws {
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        try #require(openpty(&ends.master, &ends.slave, nil, nil, nil) == 0)
        (master, slave) = ends
        path = try #require(ttyname(slave).map { String(cString: $0) })
    }

    deinit {
        close(master)
        close(slave)
    }

    /// Types a line, which a program then reads.
    func type(_ line: String) throws {
        let bytes = Array(line.utf8)
        try #require(write(master, bytes, bytes.count) == bytes.count)
        var buffer = [UInt8](repeating: 0, count: 256)
        try #require(read(slave, &buffer, buffer.count) == bytes.count)
    }
}
