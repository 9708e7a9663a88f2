import Instruments
import Storage

/// Renders metrics in Prometheus' text format, version 0.0.4.
///
/// Source: prometheus.io, "Exposition formats", "Text format details".
struct Exposition {
    /// The format's `Content-Type`.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private var bytes: [UInt8] = []

    /// Renders a table of metrics.
    static func text(_ metrics: [Metric], of snapshot: MetricsSnapshot) -> [UInt8] {
        var exposition = Exposition()
        exposition.bytes.reserveCapacity(32 * 1024)
        for metric in metrics { exposition.append(metric, metric.samples(snapshot)) }
        return exposition.bytes
    }

    /// Appends a metric's help, type and samples.
    private mutating func append(_ metric: Metric, _ samples: [Metric.Sample]) {
        guard !samples.isEmpty else { return }
        append("# HELP \(metric.name) \(Self.escaped(metric.help, isQuoted: false))\n")
        append("# TYPE \(metric.name) \(metric.kind.rawValue)\n")
        for sample in samples {
            precondition(sample.labels.count == metric.labels.count, "a sample of other labels")
            let labels = zip(metric.labels, sample.labels).map { name, value in
                "\(name)=\"\(Self.escaped(value, isQuoted: true))\""
            }
            switch sample.value {
            case .integer(let number): line(metric.name, labels, "\(number)")
            case .nanoseconds(let count): line(metric.name, labels, Self.seconds(count))
            case .histogram(let histogram): append(histogram, metric.name, labels)
            }
        }
    }

    private mutating func append(_ histogram: DurationHistogram, _ name: String, _ labels: [String]) {
        var sum: UInt64 = 0
        for (index, count) in histogram.buckets.enumerated() {
            sum += count
            let isLast = index == DurationHistogram.bounds.count
            let bound = isLast ? "+Inf" : Self.seconds(DurationHistogram.bounds[index])
            line(name + "_bucket", labels + ["le=\"\(bound)\""], "\(sum)")
        }
        line(name + "_sum", labels, Self.seconds(histogram.sum))
        line(name + "_count", labels, "\(sum)")
    }

    private mutating func line(_ name: String, _ labels: [String], _ value: String) {
        append(name)
        if !labels.isEmpty { append("{\(labels.joined(separator: ","))}") }
        append(" \(value)\n")
    }

    private mutating func append(_ text: String) { bytes += text.utf8 }

    /// Nanoseconds as seconds: a decimal number without trailing zeros.
    static func seconds(_ nanoseconds: UInt64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard rest > 0 else { return "\(whole)" }
        var digits = String(rest)
        digits = String(repeating: "0", count: 9 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(whole).\(digits)"
    }

    /// Text with line breaks, backslashes and quotes escaped.
    private static func escaped(_ text: String, isQuoted: Bool) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "\\") || $0 == 0x0A || $0 == 0x22 }) else {
            return text
        }
        var escaped = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        if isQuoted { escaped = escaped.replacing("\"", with: "\\\"") }
        return escaped
    }
}
