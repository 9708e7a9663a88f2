package import Foundation
import Glibc

/// A program running as a process, which leads its own process group.
///
/// Foundation's `Process` occasionally hangs or crashes when programs start and end in quick succession.
package struct ChildProcess: Sendable {
    package let processIdentifier: Int32

    /// What failed, and why.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        init(_ what: String, _ code: Int32) {
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    /// Starts a program, which inherits only the given descriptors; its other standard streams are `/dev/null`.
    ///
    /// - Parameter environment: By default the test's own.
    package init(
        _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil
    ) throws(Failure) {
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        for (own, given) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, errors)] {
            if let given {
                posix_spawn_file_actions_adddup2(&files, given, own)
            } else {
                posix_spawn_file_actions_addopen(&files, own, "/dev/null", O_RDWR, 0)
            }
        }
        posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A child inherits the thread's signal mask, and a loop's thread blocks every signal, even SIGTERM.
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let variables = environment ?? ProcessInfo.processInfo.environment
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        var assignments = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + assignments { free(word) } }
        var child: Int32 = 0
        let code = posix_spawn(&child, path, &files, &attributes, &words, &assignments)
        guard code == 0 else { throw Failure(path, code) }
        processIdentifier = child
    }

    /// Waits for the process to end and returns its exit status, or the negative number of the signal that ended it.
    ///
    /// Blocks. Call it once.
    package func waitForEnd() -> Int32 {
        var status: Int32 = 0
        while waitpid(processIdentifier, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : -signal
    }

    /// Waits like ``waitForEnd()``, but without blocking.
    package func ended() async -> Int32 {
        await onThread { waitForEnd() }
    }

    /// What a program printed, and its exit status.
    package struct Result: Sendable {
        package let status: Int32
        package let output: String
        package let errors: String
    }

    /// Runs a program to completion; kills it after `deadline` seconds, with exit status 124 or 137 (timeout(1)).
    ///
    /// Blocks.
    package static func run(
        _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        input: Data = Data(), deadline: Int = 60
    ) throws -> Result {
        let files = try (0..<3).map { _ in try memory() }
        try files[0].write(contentsOf: input)
        try files[0].seek(toOffset: 0)
        let child = try ChildProcess(
            "/usr/bin/timeout", ["-k", "2", String(deadline), path] + arguments, environment: environment,
            input: files[0].fileDescriptor, output: files[1].fileDescriptor, errors: files[2].fileDescriptor)
        let status = child.waitForEnd()
        let texts = try files.map { file in
            try file.seek(toOffset: 0)
            return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        }
        return Result(status: status, output: texts[1], errors: texts[2])
    }

    /// Runs a program like ``run(_:_:environment:input:deadline:)``, but without blocking.
    package static func finished(
        _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        input: Data = Data(), deadline: Int = 60
    ) async throws -> Result {
        try await onThread {
            Swift.Result {
                try run(path, arguments, environment: environment, input: input, deadline: deadline)
            }
        }.get()
    }

    /// A file in memory that no other process inherits.
    private static func memory() throws(Failure) -> FileHandle {
        let descriptor = memfd_create("child", UInt32(MFD_CLOEXEC))
        guard descriptor >= 0 else { throw Failure("memfd_create", errno) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}
