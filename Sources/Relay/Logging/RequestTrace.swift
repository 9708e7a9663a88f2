/// Details for a request's log line in addition to route, status and duration, collected while the request is handled.
struct RequestTrace {
    private(set) var fields: [LogField] = []
    /// Whether a successful request isn't worth a log line at info level.
    var isRoutine = false
    /// The highest status in a response whose parts each have a status.
    var worstStatus: Int?

    /// Adds a detail.
    mutating func add(_ field: LogField) { fields.append(field) }

    /// Adds, for each count, the sum over the traces of a request's parts.
    mutating func add(sumsOf parts: [RequestTrace]) {
        var sums: [(key: StaticString, sum: Int)] = []
        for part in parts {
            for field in part.fields {
                guard case .integer(let count) = field.value else { continue }
                if let index = sums.firstIndex(where: { $0.key.description == field.key.description }) {
                    sums[index].sum += count
                } else {
                    sums.append((field.key, count))
                }
            }
        }
        for (key, sum) in sums { add(.count(key, sum)) }
    }
}
