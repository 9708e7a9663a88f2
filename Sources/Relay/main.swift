import Glibc

FileDescriptors.openStandard()
let status = Program.run(
    arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessEnvironment.read())
// Not `exit`: after a stop that was cut short, event loops still run, and OpenSSL's clean-up would pull TLS from under them.
fflush(nil)
_exit(status.rawValue)
