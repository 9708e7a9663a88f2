import APNs

/// The reasons for a GOAWAY that may be label values: APNs' reasons and HTTP/2 error codes.
enum GoAwayReasons {
    /// The reason, or ``KnownReasons/other``.
    static func known(_ word: String) -> String {
        words.contains(word) ? word : KnownReasons.other
    }

    private static let words: Set<String> = Set(Reason.Documented.allCases.map(\.name)).union([
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
        "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
        "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ])
}
