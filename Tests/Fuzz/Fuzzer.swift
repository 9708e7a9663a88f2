// The libFuzzer targets. Tests/Fuzz/run builds and runs them; Package.swift includes them when RELAY_FUZZ=1.
//
// FUZZ_TARGET chooses the target. To run a single input, for example one that ended a run:
//     FUZZ_TARGET=json .build-fuzz/release/Fuzz .build-fuzz/crashes/json-crash-…

import Glibc

/// libFuzzer's own main function.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ testOneInput: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// A parser of untrusted bytes.
private enum Target: String {
    case http, json, http2, url

    static let chosen: Target = {
        guard let name = getenv("FUZZ_TARGET"), let target = Target(rawValue: String(cString: name)) else {
            fatalError("FUZZ_TARGET must be http, json, http2 or url")
        }
        return target
    }()

    func run(_ input: [UInt8]) {
        switch self {
        case .http: fuzzRequests(input)
        case .json: fuzzJSON(input)
        case .http2: fuzzAnswers(input)
        case .url: fuzzDatabaseURLs(input)
        }
    }
}

/// Ends the run with a message unless the condition holds.
///
/// Optimised code drops the message of `precondition`.
func require(
    _ condition: Bool, _ message: StaticString, file: StaticString = #file, line: UInt = #line
) {
    if !condition { fatalError("\(message)", file: file, line: line) }
}

/// The entry point that SwiftPM gives an executable of this name.
@_cdecl("Fuzz_main")
public func fuzzMain(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?)
    -> Int32
{
    var count = count
    var arguments = arguments
    return runDriver(&count, &arguments, testOneInput)
}

/// Runs one input; libFuzzer looks this function up by its name.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    Target.chosen.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
