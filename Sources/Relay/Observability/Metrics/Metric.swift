import Storage

/// One metric: its name, what it means, and how it is read from a snapshot.
///
/// What Prometheus scrapes and docs/METRICS.md both come from the table of these. Labels take their values from closed
/// sets, and from the configured apps and keys: never from what somebody sent.
struct Metric: Sendable {
    /// What Prometheus may do with the numbers.
    enum Kind: String, Sendable {
        /// It only grows, until the process ends.
        case counter
        /// It goes up and down.
        case gauge
        /// Durations in seconds by upper bound.
        case histogram
    }

    /// One number, or a histogram's numbers, under one set of label values.
    struct Sample: Sendable, Equatable {
        /// As many as the metric has labels, in their order.
        var labels: [String] = []
        var value: Value
    }

    /// What a sample can say.
    enum Value: Sendable, Equatable {
        case integer(Int64)
        /// Shown in seconds.
        case nanoseconds(UInt64)
        case histogram(DurationHistogram)
    }

    /// `relay_…` or, for what every process has, `process_…`.
    let name: String
    let kind: Kind
    /// The labels' names.
    let labels: [String]
    /// One sentence.
    let help: String
    /// The samples; none leaves the metric out.
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

    /// A metric of one number; `nil` leaves it out.
    init(
        _ name: String, _ kind: Kind, _ help: String, value: @escaping @Sendable (MetricsSnapshot) -> Int?
    ) {
        self.init(name, kind, labels: [], help) { snapshot in
            value(snapshot).map { [Sample(value: .integer(Int64($0)))] } ?? []
        }
    }
}

extension Metric.Sample {
    /// A count under label values.
    init(_ labels: [String], _ count: UInt64) {
        self.init(labels: labels, value: .integer(Int64(clamping: count)))
    }

    /// A number under label values.
    init(_ labels: [String], _ number: Int) {
        self.init(labels: labels, value: .integer(Int64(number)))
    }
}
