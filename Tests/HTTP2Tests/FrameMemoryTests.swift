import CNghttp2
import OwnThread
import Testing

@testable import HTTP2

@Suite("Frame allocator", .timeLimit(.minutes(2)), .ownThread)
struct FrameMemoryTests {
    /// A block and the byte it is filled with.
    private struct Block {
        let memory: UnsafeMutableRawPointer
        let size: Int
        let mark: UInt8

        var isIntact: Bool {
            UnsafeRawBufferPointer(start: memory, count: size).allSatisfy { $0 == mark }
        }

        init(_ memory: UnsafeMutableRawPointer, _ size: Int, _ mark: UInt8) {
            (self.memory, self.size, self.mark) = (memory, size, mark)
            memory.initializeMemory(as: UInt8.self, repeating: mark, count: size)
        }
    }

    @Test(
        "blocks keep their contents, are aligned and never overlap in any sequence of calls"
    )
    func contents() throws {
        var random = SeededGenerator(seed: 7)
        let memory = FrameMemory()
        let functions = memory.functions
        let context = functions.mem_user_data
        var blocks: [Block] = []
        for step in 0..<20_000 {
            let size = Int.random(in: 1...(Bool.random(using: &random) ? 300 : 5000), using: &random)
            let mark = UInt8(truncatingIfNeeded: step)
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let new = try #require(functions.malloc(size, context))
                #expect(UInt(bitPattern: new).isMultiple(of: 16))
                blocks.append(Block(new, size, mark))
            case 2:
                let new = try #require(functions.calloc(size, 3, context))
                #expect(UnsafeRawBufferPointer(start: new, count: size * 3).allSatisfy { $0 == 0 })
                blocks.append(Block(new, size * 3, mark))
            case 3:
                guard let index = blocks.indices.randomElement(using: &random) else { continue }
                let old = blocks.remove(at: index)
                #expect(old.isIntact)
                functions.free(old.memory, context)
            default:
                guard let index = blocks.indices.randomElement(using: &random) else { continue }
                let old = blocks.remove(at: index)
                #expect(old.isIntact)
                let new = try #require(functions.realloc(old.memory, size, context))
                let kept = UnsafeRawBufferPointer(start: new, count: min(size, old.size))
                #expect(kept.allSatisfy { $0 == old.mark })
                blocks.append(Block(new, size, mark))
            }
        }
        for block in blocks {
            #expect(block.isIntact)
            functions.free(block.memory, context)
        }
    }

    @Test("freed blocks are reused; freeing null is allowed; an overflowing size is refused")
    func reuse() throws {
        let memory = FrameMemory()
        let functions = memory.functions
        let context = functions.mem_user_data
        let first = try #require(functions.malloc(100, context))
        functions.free(first, context)
        #expect(functions.malloc(128, context) == first)
        functions.free(first, context)
        functions.free(nil, context)
        #expect(functions.calloc(.max, 2, context) == nil)
        let fresh = try #require(functions.realloc(nil, 10, context))
        functions.free(fresh, context)
    }
}
