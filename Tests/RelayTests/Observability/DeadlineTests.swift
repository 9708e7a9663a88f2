import Network
import Testing

@testable import Relay

@Suite("A wait with a deadline", .timeLimit(.minutes(2)))
struct DeadlineTests {
    @Test("What is there in time is returned")
    func inTime() async {
        let value = await Deadline.within(.seconds(60)) { 5 }
        #expect(value == 5)
    }

    @Test("What takes longer is not waited for, and nothing happens when it ends after all")
    func late() async {
        let (release, waiting) = AsyncStream.makeStream(of: Void.self)
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let value = await Deadline.within(.milliseconds(1)) {
            for await _ in release {}
            ended.finish()
            return 5
        }
        #expect(value == nil)
        waiting.finish()
        for await _ in ends {}
    }
}
