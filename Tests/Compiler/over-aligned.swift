// Crashes when optimised by Swift 6.3: a value aligned to 32 bytes lives in an async function, whose memory is only
// aligned to 16. A correct compiler prints "right".

struct Wide: Sendable {
    var rows = 0
    var words = SIMD4<UInt64>(1, 2, 3, 4)
}

@inline(never)
func make(_ rows: Int) async -> Wide {
    var wide = Wide()
    for row in 0..<rows {
        wide.rows += 1
        wide.words[0] &+= UInt64(row)
        if row == 2 { await Task.yield() }
    }
    return wide
}

@inline(never)
func apply<Result: Sendable>(_ body: (Int) async -> Result, to number: Int) async -> Result {
    await body(number)
}

@inline(never)
func describe(_ rows: Int) async -> String {
    let wide = await apply({ await make($0) }, to: rows)
    return "\(wide)"
}

@main
struct Main {
    static func main() async {
        for rows in 1...4 {
            let text = await describe(rows)
            guard text.hasPrefix("Wide(rows: \(rows), ") else { return print("wrong: \(text)") }
        }
        print("right")
    }
}
