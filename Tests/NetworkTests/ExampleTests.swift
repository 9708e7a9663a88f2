import Network
import Testing

/// The example in the module's documentation, line by line.
@Suite("Example of Network", .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a loop runs code that waits for a timer")
    func loop() async {
        let loop = EventLoop(label: "example")
        let waited = await loop.run { loop in
            let start = loop.now
            var timer: Timer?
            await withCheckedContinuation { continuation in
                timer = Timer(on: loop) { continuation.resume() }
                timer?.schedule(after: .milliseconds(20))
            }
            timer = nil
            return loop.now.since(start)
        }
        await loop.stop()

        // A coarse timer may be 5 ms early.
        #expect(waited >= .milliseconds(10))
    }
}
