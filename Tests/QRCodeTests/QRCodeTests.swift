import ChildProcess
import Foundation
import Testing

@testable import QRCode

@Suite("QR codes", .timeLimit(.minutes(2)))
struct QRCodeTests {
    private static let link =
        "mobilevoice:///?pair=%7B%22v%22%3A1%2C%22relayURL%22%3A%22https%3A%2F%2Frelay.example.org%22%7D"

    @Test(
        "A decoder reads the PNG file", arguments: [link, "x", String(repeating: "a", count: 2953)])
    func png(text: String) throws {
        #expect(try Decoder.read(try #require(QRCode(text)).png(scale: 4)) == text)
    }

    @Test(
        "A decoder reads what a terminal shows, also one that isn't black and white",
        arguments: [link, "x"])
    func terminal(text: String) throws {
        let picture = try TerminalPicture(try #require(QRCode(text)).terminalText)
        #expect(try Decoder.read(picture.graymap) == text)
    }

    @Test("Every line sets its colours and is as wide as the code with its border")
    func lines() throws {
        let code = try #require(QRCode(Self.link))
        let lines = code.terminalText.split(separator: "\n")
        #expect(lines.count == (code.outerSize + 1) / 2)
        for line in lines {
            #expect(line.hasPrefix("\u{1B}[38;5;16;48;5;231m") && line.hasSuffix("\u{1B}[0m"))
            #expect(line.count == code.outerSize + "\u{1B}[38;5;16;48;5;231m\u{1B}[0m".count)
        }
    }

    @Test("Nothing and too much give no code")
    func limits() {
        #expect(QRCode("") == nil)
        #expect(QRCode(String(repeating: "a", count: 2954)) == nil)
    }

    @Test("The checksums are those of the standards")
    func checksums() {
        #expect(Checksum.crc32(Array("123456789".utf8)) == 0xCBF4_3926)
        #expect(Checksum.adler32(Array("Wikipedia".utf8)) == 0x11E6_0398)
    }
}

/// zbarimg, a decoder that shares nothing with the encoder.
private enum Decoder {
    static func read(_ image: [UInt8]) throws -> String {
        let file = try makeTemporaryDirectory() + "/code.png"
        try Data(image).write(to: URL(fileURLWithPath: file))
        let arguments = ["--quiet", "--raw", "--oneshot", "-Sdisable", "-Sqrcode.enable", file]
        let text = try ChildProcess.run("/usr/bin/zbarimg", arguments).output
        return String(text.hasSuffix("\n") ? text.dropLast() : text[...])
    }
}

/// What a terminal displays: each cell is eight pixels wide and sixteen high.
private struct TerminalPicture {
    private static let cell = (width: 8, height: 16)

    private var rows: [[UInt8]] = []

    struct Unknown: Error {}

    init(_ text: String) throws {
        for line in text.split(separator: "\n") {
            var cells: [(upper: UInt8, lower: UInt8)] = []
            // A code must not use a terminal's default colours.
            var colours: (ink: UInt8, paper: UInt8)?
            var rest = line
            while let character = rest.popFirst() {
                if character == "\u{1B}" {
                    let sequence = rest.prefix { $0 != "m" }
                    rest = rest.dropFirst(sequence.count + 1)
                    colours = try Self.colours(sequence)
                    continue
                }
                guard let (ink, paper) = colours else { throw Unknown() }
                switch character {
                case "█": cells.append((ink, ink))
                case "▀": cells.append((ink, paper))
                case "▄": cells.append((paper, ink))
                case " ": cells.append((paper, paper))
                default: throw Unknown()
                }
            }
            for half in [cells.map(\.upper), cells.map(\.lower)] {
                let row = half.flatMap { [UInt8](repeating: $0, count: Self.cell.width) }
                rows += [[UInt8]](repeating: row, count: Self.cell.height / 2)
            }
        }
    }

    private static func colours(_ sequence: Substring) throws -> (ink: UInt8, paper: UInt8)? {
        switch sequence {
        case "[0": nil
        // Black and white of the 6 × 6 × 6 colours, softened as on a screen.
        case "[38;5;16;48;5;231": (ink: 40, paper: 230)
        default: throw Unknown()
        }
    }

    /// The picture as a PGM file, with the dark surroundings that a terminal's window may have.
    var graymap: [UInt8] {
        let margin = 40
        let width = (rows.first?.count ?? 0) + 2 * margin
        let dark = [UInt8](repeating: 0, count: margin)
        let line = [UInt8](repeating: 0, count: width)
        let all =
            [[UInt8]](repeating: line, count: margin) + rows.map { dark + $0 + dark }
            + [[UInt8]](repeating: line, count: margin)
        return Array("P5\n\(width) \(all.count)\n255\n".utf8) + all.joined()
    }
}
