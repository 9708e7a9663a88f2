import Glibc
import Network
import Testing

@Suite("Watches of descriptors", .timeLimit(.minutes(1)))
struct DescriptorWatchTests {
    @Test("a watch calls for what it watches, and not after its release")
    func pipe() async throws {
        let loop = EventLoop(label: "test")
        let seen = await loop.run { loop in
            var ends: [Int32] = [0, 0]
            guard Glibc.pipe(&ends) == 0 else { return ["no pipe"] }
            defer { for end in ends { close(end) } }
            var seen: [String] = []
            var watches: [DescriptorWatch] = []
            await withCheckedContinuation { continuation in
                let writable = DescriptorWatch(ends[1], on: loop) { isReadable, isWritable in
                    seen.append("writing end: \(isReadable) \(isWritable)")
                    watches[0].watch(reading: false, writing: false)
                    write(ends[1], [7], 1)
                }
                let readable = DescriptorWatch(ends[0], on: loop) { isReadable, isWritable in
                    seen.append("reading end: \(isReadable) \(isWritable)")
                    // Its byte is still unread, so it would be called again.
                    watches.removeAll()
                    continuation.resume()
                }
                watches = [writable, readable]
                writable.watch(reading: false, writing: true)
                readable.watch(reading: true, writing: false)
            }
            return seen
        }
        await loop.stop()
        #expect(seen == ["writing end: false true", "reading end: true false"])
    }
}
