import Testing

@testable import Storage

@Suite("Insertions of several rows", .timeLimit(.minutes(2))) struct InsertionTests {
    @Test("Padded chunks have every row in order, and the last row as often as is needed", arguments: 0...200)
    func padding(count: Int) {
        let chunks = Insertion.padded(Array(0..<count))
        #expect(chunks.flatMap(\.chunk) == Array(0..<count))
        for (chunk, filled) in chunks {
            #expect(Insertion.paddedSizes.contains(filled.count))
            #expect(filled.starts(with: chunk))
            #expect(filled.dropFirst(chunk.count).allSatisfy { $0 == chunk.last })
            #expect(filled.count < chunk.count * 2)
        }
        #expect(chunks.count == (count + 127) / 128)
    }
}
