import Glibc
import Network
import Programs

// Keys and texts stay out of core dumps.
allowMemoryDumps(false)
FileDescriptors.openStandard()
let status = Program.run(Array(CommandLine.arguments.dropFirst()), ProcessEnvironment.read())
// Not `exit`: requests may still be running, and the libraries' cleanup would break them.
fflush(nil)
_exit(status.rawValue)
