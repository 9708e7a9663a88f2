internal import JSON

/// A complete response from APNs and the outcome that follows from it.
///
/// The status decides the outcome and the body is optional, so a response from an intermediary (such as a proxy's HTML
/// page) lacks only the reason. Text that could break a log line never gets into an outcome.
package struct Answer: Sendable {
    /// The longest body that is parsed, in bytes; APNs' bodies are shorter than 100 bytes.
    package static let bodyBytesMax = 4_096
    /// The longest accepted `Retry-After`, in seconds: the delay that Apple advises after a server error.
    package static let retryAfterMax = 900

    /// `:status`, 200 to 999.
    package var status: Int
    /// `apns-id`.
    package var apnsID: String?
    /// `apns-unique-id`.
    package var uniqueID: String?
    /// `retry-after`.
    package var retryAfter: String?
    /// The body.
    package var body: [UInt8]

    /// Creates a response from its parts.
    package init(
        status: Int, apnsID: String? = nil, uniqueID: String? = nil, retryAfter: String? = nil,
        body: [UInt8] = []
    ) {
        self.status = status
        self.apnsID = apnsID
        self.uniqueID = uniqueID
        self.retryAfter = retryAfter
        self.body = body
    }

    /// The outcome.
    ///
    /// - Parameter id: The push's own `apns-id`, used if the response has none.
    package func outcome(of id: String) -> Outcome {
        guard status != 200 else {
            return .accepted(
                apnsID: apnsID.flatMap(Self.identifier) ?? id, uniqueID: uniqueID.flatMap(Self.identifier))
        }
        let value = try? JSON.parse(body, maxBytes: Self.bodyBytesMax)
        return .rejected(
            Rejection(
                status: status, reason: value.flatMap(Reason.init(of:)),
                timestamp: value?["timestamp"]?.int.flatMap { $0 >= 0 ? Int64($0) : nil },
                retryAfter: retryAfter.flatMap(Self.seconds)))
    }

    /// Parses a number of seconds, clamped to ``retryAfterMax``.
    ///
    /// Ignores dates, which RFC 9110 also allows: APNs has not been seen to send one.
    private static func seconds(_ text: String) -> Int? {
        guard !text.isEmpty else { return nil }
        var number = 0
        for byte in text.utf8 {
            guard byte &- UInt8(ascii: "0") < 10 else { return nil }
            number = min(number * 10 + Int(byte - UInt8(ascii: "0")), retryAfterMax)
        }
        return number
    }

    /// Accepts 1 to 64 letters, digits and hyphens; nil for anything else.
    private static func identifier(_ text: String) -> String? {
        let isUsable = text.utf8.allSatisfy { byte in
            (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
                || byte == UInt8(ascii: "-")
        }
        return isUsable && (1...64).contains(text.utf8.count) ? text : nil
    }
}
