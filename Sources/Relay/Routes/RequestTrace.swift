/// Details of a request's log line besides route, status and duration; collected while it is handled.
struct RequestTrace {
    private(set) var fields: [LogField] = []
    /// Whether a success did nothing worth a line at info level.
    var isRoutine = false

    /// Adds a detail.
    mutating func add(_ field: LogField) { fields.append(field) }
}
