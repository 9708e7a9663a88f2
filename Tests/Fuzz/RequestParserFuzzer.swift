// A libFuzzer target for the HTTP request parser. Tests/Fuzz/run builds and runs it; Package.swift has it when RELAY_FUZZ=1.
//
// The first byte of an input chooses where the rest is cut and the second the limits, so that seeds stay readable: a file of
// Tests/Fuzz/corpus is two such bytes and a request. To run one input alone, for example one that stopped a run:
//     .build-fuzz/release/Fuzz .build-fuzz/crashes/crash-…

import HTTPServer

/// libFuzzer's own main function.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ testOneInput: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The entry point that SwiftPM gives an executable of this name.
@_cdecl("Fuzz_main")
public func fuzzMain(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?)
    -> Int32
{
    var count = count
    var arguments = arguments
    return runDriver(&count, &arguments, testOneInput)
}

/// One run: libFuzzer looks it up by this name.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard input.count > 2 else { return 0 }
    let bytes = Array(input[2...])
    let limits = limits(input[1])
    let whole = Outcome(bytes, step: bytes.count, limits: limits)
    precondition(
        whole == Outcome(bytes, step: 1 + Int(input[0] % 16), limits: limits), "cuts change the outcome")
    precondition(whole == Outcome(bytes, first: Int(input[0]), limits: limits), "one cut changes the outcome")
    return 0
}

/// The server's own limits for an even choice, and small ones otherwise, which short inputs reach.
private func limits(_ choice: UInt8) -> Limits {
    var limits = Limits()
    guard choice % 2 == 1 else { return limits }
    limits.requestLineBytesMax = 24
    limits.headerCountMax = 3
    limits.headerBytesMax = 96
    limits.bodyBytesMax = 20
    limits.chunkExtensionBytesMax = 8
    limits.trailerCountMax = 2
    limits.trailerBytesMax = 24
    return limits
}

/// Everything a parser said about some bytes.
private struct Outcome: Equatable {
    private var said: [String] = []

    /// Feeds pieces of `step` bytes, or a first piece and the rest.
    init(_ bytes: [UInt8], step: Int = Int.max / 2, first: Int = 0, limits: Limits) {
        var parser = RequestParser(limits: limits)
        var start = 0
        while start < bytes.count {
            let end = start == 0 && first > 0 ? min(first, bytes.count) : min(start + step, bytes.count)
            guard feed(Array(bytes[start..<end]), to: &parser, limits) else { return }
            start = end
        }
        said.append("\(parser.phase) \(parser.awaitsContinue) \(parser.unfinished?.target ?? "")")
    }

    /// Feeds one piece and checks what holds for every input; false after a refusal.
    private mutating func feed(_ piece: [UInt8], to parser: inout RequestParser, _ limits: Limits) -> Bool {
        var offset = 0
        while true {
            let before = offset
            let step = parser.parse(piece.span, &offset)
            precondition(offset >= before && offset <= piece.count, "took bytes that it wasn't given")
            switch step {
            case .needsMore:
                precondition(offset == piece.count, "left bytes behind")
                return true
            case .request(let request):
                precondition(parser.phase == .idle)
                precondition(request.body.count <= limits.bodyBytesMax, "a body over its limit")
                precondition(request.headers.count <= limits.headerCountMax, "fields over their limit")
                let fields = request.headers.pairs.map { "\($0.name)=\($0.value)" }
                said.append(
                    "\(request.method) \(request.target) \(request.path) \(request.query) \(request.keepsAlive)"
                )
                said.append("\(fields) \(request.body)")
            case .refused(let refusal):
                let request = parser.unfinished
                said.append("\(refusal) \(parser.isHead) \(request?.target ?? "") \(request?.path ?? "")")
                said.append("\(request?.query ?? "") \(request?.headers.pairs.map(\.value) ?? [])")
                var again = 0
                guard case .refused(refusal) = parser.parse(piece.span, &again), again == 0 else {
                    preconditionFailure("went on after a refusal")
                }
                return false
            }
        }
    }
}
