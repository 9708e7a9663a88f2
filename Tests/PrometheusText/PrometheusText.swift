/// A strict reader of Prometheus' text format, version 0.0.4, for tests.
///
/// It accepts less than the format allows: the relay writes HELP, TYPE and samples for each metric, in this order
/// and contiguously, without comments, blank lines and timestamps.
package struct PrometheusText: Sendable {
    /// Why some text isn't in the format.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// One value with its labels.
    package struct Sample: Sendable, Hashable {
        /// The metric's name, with a histogram's `_bucket`, `_sum` or `_count`.
        package let name: String
        package let labels: [String: String]
        package let value: Double
    }

    /// A metric with all of its samples.
    package struct Family: Sendable {
        package let name: String
        package let help: String
        package fileprivate(set) var kind = ""
        package fileprivate(set) var samples: [Sample] = []
    }

    /// The metrics, in order of appearance.
    package private(set) var families: [Family] = []
    private var series: Set<String> = []

    /// Parses a complete text.
    package init(_ text: String) throws(Problem) {
        guard text.hasSuffix("\n") else { throw Problem(description: "the last line has no end") }
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            do throws(Problem) {
                try read(line)
            } catch {
                throw Problem(description: "\(error.description): \(line)")
            }
        }
        for family in families { try check(family) }
    }

    /// The value of a series, given all of its labels; nil if there is no such series.
    package func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        samples.first { $0.name == name && $0.labels == labels }?.value
    }

    /// The sum of all series with this name whose labels include the given ones.
    package func sum(_ name: String, _ labels: [String: String] = [:]) -> Double {
        samples.filter { sample in
            sample.name == name && labels.allSatisfy { sample.labels[$0.key] == $0.value }
        }.reduce(0) { $0 + $1.value }
    }

    /// The samples of every series.
    package var samples: [Sample] { families.flatMap(\.samples) }

    /// Every value of every label.
    package var labelValues: Set<String> { Set(samples.flatMap(\.labels.values)) }
}

// MARK: - Lines

extension PrometheusText {
    private mutating func read(_ line: Substring) throws(Problem) {
        if line.hasPrefix("# HELP ") {
            let (name, help) = try Self.words(line.dropFirst(7))
            guard !families.contains(where: { $0.name == name }) else {
                throw Problem(description: "a metric in two pieces")
            }
            if let last = families.last, last.samples.isEmpty {
                throw Problem(description: "\(last.name) has no samples")
            }
            families.append(Family(name: name, help: String(help)))
        } else if line.hasPrefix("# TYPE ") {
            let (name, kind) = try Self.words(line.dropFirst(7))
            guard let last = families.indices.last, families[last].name == name, families[last].kind.isEmpty,
                ["counter", "gauge", "histogram"].contains(kind)
            else { throw Problem(description: "a TYPE out of place") }
            families[last].kind = String(kind)
        } else {
            try take(try SampleReader.read(line))
        }
    }

    private mutating func take(_ sample: Sample) throws(Problem) {
        guard let last = families.indices.last, !families[last].kind.isEmpty else {
            throw Problem(description: "a sample before its TYPE")
        }
        let names =
            families[last].kind == "histogram"
            ? ["_bucket", "_sum", "_count"].map { families[last].name + $0 } : [families[last].name]
        guard names.contains(sample.name) else { throw Problem(description: "a sample of another metric") }
        let labels = sample.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        guard series.insert(sample.name + "\u{0}" + labels.joined(separator: "\u{0}")).inserted else {
            throw Problem(description: "a series twice")
        }
        families[last].samples.append(sample)
    }

    private static func words(_ text: Substring) throws(Problem) -> (String, Substring) {
        guard let space = text.firstIndex(of: " "), SampleReader.isName(text[..<space]) else {
            throw Problem(description: "no name")
        }
        return (String(text[..<space]), text[text.index(after: space)...])
    }
}

// MARK: - Families

extension PrometheusText {
    private func check(_ family: Family) throws(Problem) {
        func problem(_ text: String) -> Problem { Problem(description: "\(family.name): \(text)") }
        guard !family.samples.isEmpty else { throw problem("no samples") }
        guard family.help.hasSuffix(".") else { throw problem("HELP is no sentence") }
        let isCounter = family.kind == "counter"
        guard family.name.hasSuffix("_total") == isCounter else { throw problem("_total is for counters") }
        if isCounter, family.samples.contains(where: { $0.value < 0 }) { throw problem("below zero") }
        // One set of label names; otherwise sums over a metric would mix different things.
        let names = Set(family.samples.map { Set($0.labels.keys).subtracting(["le"]) })
        guard names.count == 1 else { throw problem("different labels") }
        if family.kind == "histogram" {
            for labels in Set(family.samples.map { $0.labels.filter { $0.key != "le" } }) {
                guard Self.isWhole(family, labels) else { throw problem("a broken histogram of \(labels)") }
            }
        }
    }

    /// Whether the buckets rise up to `+Inf`, which equals the count, and there is a sum.
    private static func isWhole(_ family: Family, _ labels: [String: String]) -> Bool {
        let samples = family.samples.filter { $0.labels.filter { $0.key != "le" } == labels }
        let buckets = samples.filter { $0.name.hasSuffix("_bucket") }
        let bounds = buckets.map { $0.labels["le"].flatMap { SampleReader.number($0[...]) } ?? .nan }
        let counts = buckets.map(\.value)
        let count = samples.filter { $0.name.hasSuffix("_count") && $0.labels["le"] == nil }
        let sum = samples.filter { $0.name.hasSuffix("_sum") && $0.labels["le"] == nil }
        return bounds.count > 1 && zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }
            && bounds.last == .infinity && zip(counts, counts.dropFirst()).allSatisfy { $0 <= $1 }
            && count.count == 1 && count[0].value == counts.last && sum.count == 1
            && samples.count == buckets.count + 2
    }
}

/// Reads `name{label="value",…} number`.
private enum SampleReader {
    typealias Problem = PrometheusText.Problem

    static func read(_ line: Substring) throws(Problem) -> PrometheusText.Sample {
        var rest = line
        let name = rest.prefix { $0 != "{" && $0 != " " }
        guard isName(name) else { throw Problem(description: "no name") }
        rest = rest[name.endIndex...]
        var labels: [String: String] = [:]
        if rest.first == "{" {
            repeat {
                rest.removeFirst()
                let label = rest.prefix { $0 != "=" }
                rest = rest[label.endIndex...]
                guard isName(label), !label.contains(":"), rest.hasPrefix("=\"") else {
                    throw Problem(description: "no label")
                }
                rest = rest.dropFirst(2)
                let value = try quoted(&rest)
                guard labels.updateValue(value, forKey: String(label)) == nil else {
                    throw Problem(description: "a label twice")
                }
            } while rest.first == ","
            guard rest.popFirst() == "}" else { throw Problem(description: "no end of the labels") }
        }
        guard rest.popFirst() == " ", let value = number(rest) else {
            throw Problem(description: "no number")
        }
        return PrometheusText.Sample(name: String(name), labels: labels, value: value)
    }

    /// Parses a label's value, up to the closing quotation mark.
    private static func quoted(_ rest: inout Substring) throws(Problem) -> String {
        var value = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return value
            case "\\":
                switch rest.popFirst() {
                case "\\": value.append("\\")
                case "\"": value.append("\"")
                case "n": value.append("\n")
                default: throw Problem(description: "an unknown escape")
                }
            default: value.append(character)
            }
        }
        throw Problem(description: "a label's value without end")
    }

    static func number(_ text: Substring) -> Double? {
        if text == "+Inf" { return .infinity }
        // Swift accepts more than the format: hexadecimal digits, "infinity".
        guard let first = text.first, first == "-" || first.isWholeNumber,
            text.utf8.allSatisfy({ "0123456789.-+eE".utf8.contains($0) })
        else { return nil }
        return Double(text)
    }

    static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: ":"): true
            default: false
            }
        }
    }
}
