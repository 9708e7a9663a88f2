/// Notification texts in the format of OpenCode's own forwarder.
///
/// Texts are cut between grapheme clusters, never inside an emoji.
enum NotificationText {
    /// The title: the kind of event, followed by the session's title.
    static func title(_ type: EventType, session title: String?, isQuestion: Bool = false) -> String {
        let words = clean(title ?? "")
        guard !words.isEmpty else { return isQuestion ? "Session question" : "Session \(type.rawValue)" }
        let prefix =
            switch type {
            case .complete: ""
            case .permission: isQuestion ? "Question: " : "Action Needed: "
            case .error: "Error: "
            }
        let whole = words.hasPrefix(prefix) ? words : prefix + words
        return cut(whole, characters: Bounds.titleCharactersMax, bytes: Bounds.titleBytesMax)
    }

    /// The body: the beginning of the text, or a sentence about the event.
    static func body(_ type: EventType, text: String?) -> String {
        let short = excerpt(text, bytes: Bounds.bodyBytesMax)
        guard short.isEmpty else { return short }
        return switch type {
        case .complete: "Session complete."
        case .permission: "OpenCode needs your permission decision."
        case .error: "OpenCode reported an error for your session."
        }
    }

    /// The body for a request: its content, or only its kind.
    static func body(_ request: Request, showsDetails: Bool) -> String {
        if showsDetails, let detail = request.detail {
            let words = clean(detail, keepsLines: true)
            if !words.isEmpty {
                return cut(words, characters: Bounds.detailCharactersMax, bytes: Bounds.bodyBytesMax)
            }
        }
        return switch request.kind {
        case .permission: body(.permission, text: request.action.map { "Wants to use \($0)." })
        case .question, .form: "OpenCode has a question."
        }
    }

    /// The beginning of the text; empty if there is none.
    static func excerpt(_ text: String?, bytes: Int) -> String {
        let words = clean(text ?? "").split(separator: " ")
        let kept = words.prefix(Bounds.bodyWordsMax).joined(separator: " ")
        let short = cut(kept, characters: Bounds.bodyCharactersMax, bytes: bytes)
        return words.count > Bounds.bodyWordsMax && !short.hasSuffix("…") ? short + "…" : short
    }

    /// A session's title for a Live Activity; empty if it has none.
    static func name(_ title: String?) -> String {
        cut(clean(title ?? ""), characters: Bounds.stateTitleCharactersMax, bytes: Bounds.stateTitleBytesMax)
    }

    /// Collapses white space and removes control characters, characters that change the text direction, and invisible
    /// ones.
    ///
    /// - Parameter keepsLines: Whether line breaks are kept.
    private static func clean(_ text: String, keepsLines: Bool = false) -> String {
        var result = String.UnicodeScalarView()
        var isGap = false
        var isBreak = false
        // Titles and bodies need far less than this, and an agent's text can be long.
        var room = Bounds.titleBytesMax * 4
        for scalar in text.unicodeScalars {
            if scalar.properties.isWhitespace {
                isGap = true
                if keepsLines, scalar == "\n" { isBreak = true }
            } else if isVisible(scalar) {
                if isGap, !result.isEmpty { result.append(isBreak ? "\n" : " ") }
                isGap = false
                isBreak = false
                result.append(scalar)
                room -= 1
                guard room > 0 else { break }
            }
        }
        return String(result)
    }

    /// Whether a character is visible, or joins others, as in emoji and Persian.
    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .unassigned, .surrogate: false
        case .format:
            scalar == "\u{200C}" || scalar == "\u{200D}" || (0xE0020...0xE007F).contains(scalar.value)
        default: true
        }
    }

    /// The beginning of the text, with an ellipsis if it was cut; may exceed `bytes` by the ellipsis.
    static func cut(_ text: String, characters: Int = .max, bytes: Int) -> String {
        var size = 0
        var end = text.startIndex
        for (count, index) in text.indices.enumerated() {
            size += text[index].utf8.count
            guard count < characters, size <= bytes else {
                let kept = text[..<end]
                return (kept.last == " " ? kept.dropLast() : kept) + "…"
            }
            end = text.index(after: index)
        }
        return text
    }
}
