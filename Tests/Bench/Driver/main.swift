import Glibc

exit(runCommand(CommandLine.arguments))
