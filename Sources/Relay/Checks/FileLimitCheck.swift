/// Compares the open file limit with the maximum number of connections.
enum FileLimitCheck {
    /// The finding for a limit and a number of connections.
    static func finding(limit: Int, connectionsMax: Int) -> CheckFinding {
        let needed = connectionsMax + Bounds.fileDescriptorsReserved
        let text = "\(limit) may be open here"
        guard limit < needed else { return .ok(.files, "", "\(text), at most \(needed) are needed") }
        return .fault(
            .fileLimit, .files, "",
            "\(text): the relay would accept \(max(1, limit - Bounds.fileDescriptorsReserved)) connections, not "
                + "\(connectionsMax)")
    }
}
