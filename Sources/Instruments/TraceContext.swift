/// A place in a distributed trace: the value of a `traceparent` header (W3C Trace Context Level 2, section 3.2).
package struct TraceContext: Hashable, Sendable {
    /// Identifies a trace: 16 bytes, not all zero.
    package struct TraceID: Hashable, Sendable {
        private let high: UInt64
        private let low: UInt64

        /// Creates an ID from its halves; `nil` if both are zero.
        package init?(_ high: UInt64, _ low: UInt64) {
            guard high | low != 0 else { return nil }
            (self.high, self.low) = (high, low)
        }

        /// The ID with the same 32 digits as a UUID; `nil` if the text isn't one.
        package init?(uuid: String) {
            let digits = uuid.utf8.filter { $0 != UInt8(ascii: "-") }
            guard digits.count == 32, let high = TraceContext.number(digits[..<16]),
                let low = TraceContext.number(digits[16...])
            else { return nil }
            self.init(high, low)
        }

        /// 32 lower-case hexadecimal digits.
        package var text: String { TraceContext.hex(high) + TraceContext.hex(low) }

        /// The second half, which also identifies a span; `nil` if it is zero.
        package var spanID: SpanID? { SpanID(low) }

        /// The rightmost 56 bits, which are random, so comparing them with a threshold samples a share of all traces.
        package var randomness: UInt64 { low & (1 << 56 - 1) }
    }

    /// Identifies a span within a trace: 8 bytes, not all zero.
    package struct SpanID: Hashable, Sendable {
        private let number: UInt64

        /// Creates an ID; `nil` if it is zero.
        package init?(_ number: UInt64) {
            guard number != 0 else { return nil }
            self.number = number
        }

        /// A random ID from the system's generator.
        package static func random() -> SpanID {
            while true { if let id = SpanID(.random(in: .min ... .max)) { return id } }
        }

        /// 16 lower-case hexadecimal digits.
        package var text: String { TraceContext.hex(number) }
    }

    /// The trace.
    package let trace: TraceID
    /// The span of the caller, or of this program.
    package let span: SpanID
    /// Whether the caller may have recorded the trace.
    package let isSampled: Bool

    /// Creates a place in a trace.
    package init(_ trace: TraceID, _ span: SpanID, isSampled: Bool) {
        (self.trace, self.span, self.isSampled) = (trace, span, isSampled)
    }

    /// The first place in a new trace.
    package static func random(isSampled: Bool) -> TraceContext {
        while true {
            let (high, low) = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
            guard let trace = TraceID(high, low) else { continue }
            return TraceContext(trace, .random(), isSampled: isSampled)
        }
    }

    /// Parses a header's value; `nil` if it is invalid.
    ///
    /// From a header with a version later than 00, it reads only the parts that version 00 defines (section 4.3).
    package init?(_ header: some Collection<UInt8>) {
        let bytes = Array(header.prefix(56))
        guard bytes.count >= 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = Self.number(bytes[0..<2]), version != 0xFF,
            bytes.count == 55 || version > 0 && bytes[55] == UInt8(ascii: "-"),
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]),
            let span = Self.number(bytes[36..<52]).flatMap(SpanID.init),
            let flags = Self.number(bytes[53..<55]), let trace = TraceID(high, low)
        else { return nil }
        self.init(trace, span, isSampled: flags & 1 == 1)
    }

    /// The header's value, with the flag that marks the trace ID as random.
    package var header: String { "00-\(trace.text)-\(span.text)-\(isSampled ? "03" : "02")" }

    /// Parses up to 16 lower-case hexadecimal digits.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case 0x30...0x39: number = number << 4 | UInt64(digit - 0x30)
            case 0x61...0x66: number = number << 4 | UInt64(digit - 0x57)
            default: return nil
            }
        }
        return number
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
