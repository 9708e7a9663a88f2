extension QRCode {
    /// The code with its border, as lines of half blocks that each show two rows of modules.
    ///
    /// Each line sets black and white explicitly, from those of the 256 colours that themes don't change, so the code
    /// is as legible on a dark terminal as on a light one.
    package var terminalText: String {
        stride(from: 0, to: outerSize, by: 2).map { row in
            let blocks = (0..<outerSize).map { column in
                block(upper: isDark(column: column, row: row), lower: isDark(column: column, row: row + 1))
            }
            return "\u{1B}[38;5;16;48;5;231m" + blocks.joined() + "\u{1B}[0m\n"
        }.joined()
    }

    private func block(upper: Bool, lower: Bool) -> String {
        switch (upper, lower) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
    }
}
