import ChildProcess
import Glibc
package import Network

/// Runs `body` on a new event loop and stops the loop's thread afterwards.
package func withLoop<Result: Sendable>(
    _ body: @Sendable (isolated EventLoop) async throws -> Result
) async throws -> Result {
    let loop = EventLoop(label: "test")
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await loop.run(body)) } catch { result = .failure(error) }
    await loop.stop()
    return try result.get()
}

/// A self-signed certificate and its key, as files in a temporary directory.
package struct CertificateFiles: Sendable {
    package let certificate: String
    package let key: String

    package init() throws {
        let directory = try makeTemporaryDirectory()
        certificate = directory + "/certificate.pem"
        key = directory + "/key.pem"
        let made = try SelfSignedCertificate()
        try write(made.certificate, to: certificate)
        try write(made.privateKey, to: key)
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "w") else { throw SetupFailure("cannot write \(path): error \(errno)") }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
            throw SetupFailure("cannot write \(path)")
        }
    }
}

/// A missing prerequisite for a test; the text says what to do about it.
package struct SetupFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// Lets a test wait for a state that callbacks on its loop cause.
///
/// Confined to the loop.
package final class Watch {
    private struct Waiter {
        let isDone: () -> Bool
        let resume: (Bool) -> Void
    }

    private let loop: EventLoop
    private var waiters: [Int: Waiter] = [:]
    private var nextKey = 0

    package init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Checks every condition again; called after each change.
    package func changed() {
        for (key, waiter) in waiters where waiter.isDone() {
            waiters[key] = nil
            waiter.resume(true)
        }
    }

    /// Waits until `isDone` holds; returns false if it doesn't within `limit`, which no passing test reaches.
    package func wait(
        on loop: isolated EventLoop, limit: Duration = .seconds(60), until isDone: @escaping () -> Bool
    ) async -> Bool {
        let key = nextKey
        nextKey += 1
        let timer = Timer(on: loop) { [weak self] in
            guard let waiter = self?.waiters.removeValue(forKey: key) else { return }
            waiter.resume(waiter.isDone())
        }
        timer.schedule(after: limit)
        return await withCheckedContinuation { continuation in
            // Checked here: the loop may run other work before this continuation exists, and miss its change.
            guard !isDone() else {
                timer.cancel()
                return continuation.resume(returning: true)
            }
            waiters[key] = Waiter(isDone: isDone) { isDone in
                timer.cancel()
                continuation.resume(returning: isDone)
            }
        }
    }
}
