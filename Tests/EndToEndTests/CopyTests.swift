import Glibc
import Testing

@Suite(.timeLimit(.minutes(3)))
struct CopyTests {
    private static let secret = "a secret of the test"

    private func copy(_ from: String, _ to: String, _ more: String...) async throws -> (
        status: Int32, output: String
    ) {
        let program = try Program(
            "relay", ["copy", "--from", "sqlite:" + from, "--to", "sqlite:" + to] + more)
        let status = try await program.ended()
        return (status, program.output)
    }

    @Test("relay copy moves what was registered, and its exit status says what came of it")
    func copy() async throws {
        try await Stack.run { stack in
            for number in 0..<3 { try await stack.register(Self.secret, token(number)) }
            let source = stack.directory.file("relay.db")
            let target = stack.directory.file("copy.db")
            // The source is only read, so its relay may go on running.
            let first = try await copy(source, target)
            #expect(first.status == 0)
            #expect(first.output.contains("device_registration: 3 rows"))
            let occupied = try await copy(source, target)
            #expect(occupied.status == 65)
            #expect(occupied.output.contains("--merge"))
            let merged = try await copy(source, target, "--merge")
            #expect(merged.status == 0)
            // It has a writer already.
            let back = try await copy(target, source, "--merge")
            #expect(back.status == 69)
            let missing = try await copy(stack.directory.file("none.db"), stack.directory.file("new.db"))
            #expect(missing.status == 69)
            #expect(missing.output.contains("none.db"))
            #expect(try await stack.event(Self.secret).sent == 3)
        }
    }

    @Test("A relay over the copy sends to the devices that were registered with the other")
    func serves() async throws {
        try await Stack.run { stack in
            for number in 0..<3 { try await stack.register(Self.secret, token(number)) }
            stack.relay.signal(SIGTERM)
            #expect(try await stack.relay.ended() == 0)
            let source = stack.directory.file("relay.db")
            let target = stack.directory.file("copy.db")
            #expect(try await copy(source, target).status == 0)
            for suffix in ["", "-wal", "-shm"] { unlink(source + suffix) }
            #expect(try await copy(target, source).status == 0)
            try await stack.restartRelay()
            #expect(try await stack.event(Self.secret).sent == 3)
        }
    }
}
