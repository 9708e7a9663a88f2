import Instruments
import Storage

/// A metric: its name, its help text, and how it is read from a snapshot.
///
/// A table of metrics generates the Prometheus output and docs/reference/metrics.md. Label values come from closed sets
/// and the configured apps and keys, never from a request.
struct Metric: Sendable {
    /// The metric's type in Prometheus.
    enum Kind: String, Sendable {
        /// Only increases, until the process ends.
        case counter
        /// Increases and decreases.
        case gauge
        /// Durations in seconds by upper bound.
        case histogram
    }

    /// A number or histogram with one set of label values.
    struct Sample: Sendable, Equatable {
        /// One value per label, in order.
        var labels: [String] = []
        var value: Value
    }

    /// A sample's value.
    enum Value: Sendable, Equatable {
        case integer(Int64)
        /// Shown in seconds.
        case nanoseconds(UInt64)
        case histogram(DurationHistogram)
    }

    /// `relay_…`, or `process_…` for standard process metrics.
    let name: String
    let kind: Kind
    /// The labels' names.
    let labels: [String]
    /// The help text: one sentence.
    let help: String
    /// The samples; an empty list omits the metric.
    let samples: @Sendable (MetricsSnapshot) -> [Sample]

    /// A metric with labels.
    init(
        _ name: String, _ kind: Kind, labels: [String], _ help: String,
        samples: @escaping @Sendable (MetricsSnapshot) -> [Sample]
    ) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.help = help
        self.samples = samples
    }

    /// A metric with a single number; `nil` omits it.
    init(
        _ name: String, _ kind: Kind, _ help: String, value: @escaping @Sendable (MetricsSnapshot) -> Int?
    ) {
        self.init(name, kind, labels: [], help) { snapshot in
            value(snapshot).map { [Sample(value: .integer(Int64($0)))] } ?? []
        }
    }
}

extension Metric.Sample {
    /// A count with label values.
    init(_ labels: [String], _ count: UInt64) {
        self.init(labels: labels, value: .integer(Int64(clamping: count)))
    }

    /// A number with label values.
    init(_ labels: [String], _ number: Int) {
        self.init(labels: labels, value: .integer(Int64(number)))
    }
}
