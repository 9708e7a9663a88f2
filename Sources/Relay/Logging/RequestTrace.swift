/// Details for a request's log line in addition to route, status and duration, collected while it is handled.
struct RequestTrace {
    private(set) var fields: [LogField] = []
    /// Whether a successful request isn't worth a log line at info level.
    var isRoutine = false

    /// Adds a detail.
    mutating func add(_ field: LogField) { fields.append(field) }
}
