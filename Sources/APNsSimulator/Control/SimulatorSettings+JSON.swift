package import JSON

extension SimulatorSettings {
    /// Updates the given fields and leaves the others unchanged.
    package mutating func update(_ value: JSON.Value) throws(ControlError) {
        var fields = try FieldReader(value, "limits")
        let streams = 0...Int(Self.streamsMax)
        var new = self
        if let count = try fields.int("initialStreams", in: streams) { new.initialStreams = UInt32(count) }
        if let count = try fields.int("streams", in: streams) { new.streams = UInt32(count) }
        if let latency = try fields.latency("latency") { new.latency = latency }
        if let topics = try fields.strings("topics") { new.topics = topics }
        if let unknown = try fields.choice("unknownTokens", of: UnknownTokens.self) {
            new.acceptsUnknownTokens = unknown == .accept
        }
        if let accepts = try fields.bool("acceptConnections") { new.acceptsConnections = accepts }
        let day = 86_400
        if let offset = try fields.int("clockOffset", in: -day...day) { new.clockOffset = Int64(offset) }
        let seconds = 0...Int(Int32.max)
        if let age = try fields.int("providerTokenAgeMax", in: seconds) {
            new.tokenLimits.ageMax = Int64(age)
        }
        if let interval = try fields.int("providerTokenUpdateInterval", in: seconds) {
            new.tokenLimits.updateInterval = Int64(interval)
        }
        try fields.finish()
        self = new
    }

    /// What happens to pushes to unregistered device tokens.
    package enum UnknownTokens: String, CaseIterable { case accept, reject }

    /// The JSON that ``update(_:)`` parses.
    package var json: JSON.Value {
        [
            "initialStreams": .int(initialStreams),
            "streams": .int(streams),
            "latency": .string(latency.description),
            "topics": topics.map { .array($0.map { .string($0) }) } ?? nil,
            "unknownTokens": .string((acceptsUnknownTokens ? UnknownTokens.accept : .reject).rawValue),
            "acceptConnections": .bool(acceptsConnections),
            "clockOffset": clockOffset.map { .int($0) } ?? nil,
            "providerTokenAgeMax": .int(tokenLimits.ageMax),
            "providerTokenUpdateInterval": .int(tokenLimits.updateInterval),
        ]
    }
}
