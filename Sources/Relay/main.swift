import Glibc
import Programs

CoreDumps.forbid()
FileDescriptors.openStandard()
let status = Program.run(
    arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessEnvironment.read())
// Not `exit`: event loops may still be running after an aborted shutdown, and OpenSSL's cleanup would break their TLS.
fflush(nil)
_exit(status.rawValue)
