import Glibc
import Programs

@testable import Relay

/// The files in docs/ that are generated from tables in the code, in whole or in part.
///
/// `UPDATE_DOCS=1 swift test --filter DocumentTests` regenerates them.
enum Documents {
    /// Whether the files are to be written rather than compared.
    static var isUpdating: Bool { getenv("UPDATE_DOCS") != nil }

    /// The path of a file in docs/.
    static func path(_ name: String) -> String {
        let here = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        return here.dropLast(4).joined(separator: "/") + "/docs/" + name
    }

    /// The text of a file in docs/; empty if there is none.
    static func read(_ name: String) -> String {
        guard case .success(let bytes) = SettingFile.read(path(name)) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes a file in docs/.
    static func write(_ name: String, _ text: String) {
        guard let file = fopen(path(name), "w") else { return }
        fputs(text, file)
        fclose(file)
    }

    /// Replaces the part of a text between `<!-- generated: NAME -->` and the next `<!-- end -->`.
    static func replacing(_ name: String, in text: String, with content: String) -> String? {
        guard let start = text.firstRange(of: "<!-- generated: \(name) -->\n"),
            let end = text[start.upperBound...].firstRange(of: "<!-- end -->")
        else { return nil }
        return text[..<start.upperBound] + content + text[end.lowerBound...]
    }

    /// A Markdown table.
    static func table(_ head: [String], _ rows: [[String]]) -> String {
        let lines = [head, head.map { _ in "---" }] + rows
        return lines.map { cells in
            let escaped = cells.map { $0.replacing("|", with: "\\|") }
            return head == cells || cells.first != "---"
                ? "| " + escaped.joined(separator: " | ") + " |" : "|" + escaped.joined(separator: "|") + "|"
        }.joined(separator: "\n") + "\n"
    }
}
