import HTTP2
package import JSON

extension ConnectionCommand {
    /// The longest explanation in a GOAWAY, in bytes.
    private static let reasonBytesMax = 1_024

    /// The connection commands of the control API: `POST /NAME`.
    package enum Name: String, CaseIterable, Sendable { case goaway, close, stall, resume, streams }

    private enum LastStreamName: String, CaseIterable { case received, answered }

    /// Reads the body of `POST /goaway`, `/close`, `/stall`, `/resume` or `/streams`.
    package static func read(
        _ name: Name, _ value: JSON.Value
    ) throws(ControlError) -> (ConnectionCommand, ConnectionTarget) {
        var fields = try FieldReader(value, "\(name.rawValue)")
        var target = ConnectionTarget()
        target.environment = try fields.choice("environment", of: PushEnvironment.self)
        target.connection = try fields.int("connection", in: 1...Int.max).map { UInt64($0) }
        let command: ConnectionCommand
        switch name {
        case .goaway: command = try goAway(&fields)
        case .close: command = .close
        case .stall:
            command = .stall
            target.includesNew = try fields.bool("includeNew") ?? false
        case .resume: command = .resume
        case .streams:
            guard let limit = try fields.int("limit", in: 0...Int(SimulatorSettings.streamsMax)) else {
                throw ControlError("streams needs a `limit`")
            }
            command = .limitStreams(UInt32(limit))
        }
        try fields.finish()
        return (command, target)
    }

    private static func goAway(_ fields: inout FieldReader) throws(ControlError) -> ConnectionCommand {
        let code = try ErrorCode.named(fields.value("errorCode")) ?? .noError
        var debugData: [UInt8] = []
        if let reason = try fields.string("reason") {
            guard reason.utf8.count <= reasonBytesMax else {
                throw ControlError("`reason` can't be longer than \(reasonBytesMax) bytes")
            }
            debugData = (["reason": .string(reason)] as JSON.Value).encoded()
        }
        return .goAway(code, debugData: debugData, upTo: try lastStream(&fields))
    }

    private static func lastStream(_ fields: inout FieldReader) throws(ControlError) -> LastStream {
        let value = fields.value("lastStream")
        if let number = value?.int, (0...Int(Int32.max)).contains(number) {
            return .number(StreamID(rawValue: Int32(number)))
        }
        switch value.map({ $0.string.flatMap(LastStreamName.init(rawValue:)) }) {
        case nil, .received??: return .received
        case .answered??: return .answered
        case .some(nil):
            throw ControlError("`lastStream` must be \"received\", \"answered\" or a stream number")
        }
    }
}

extension ConnectionInfo {
    /// The connection as `GET /connections` shows it.
    package var json: JSON.Value {
        var object = JSON.Object()
        object["connection"] = .int(id)
        object["environment"] = .string(environment.rawValue)
        object["remote"] = .string(remote)
        object["openedAt"] = .int(openedAt)
        object["pushes"] = .int(pushes)
        object["openStreams"] = .int(openStreams)
        object["primed"] = .bool(isPrimed)
        object["stalled"] = .bool(isStalled)
        object["keyID"] = token.map { .string($0.keyID) }
        object["teamID"] = token.map { .string($0.teamID) }
        return .object(object)
    }
}
