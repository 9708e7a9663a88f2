package import JSON

extension Statistics {
    /// The counters of one environment in `GET /stats`.
    package var json: JSON.Value {
        [
            "pushes": .int(pushes),
            "accepted": .int(accepted),
            "statuses": Self.counts(statuses.map { (String($0.key), $0.value) }),
            "reasons": Self.counts(reasons.map { ($0.key, $0.value) }),
            "stalled": .int(stalled),
            "reset": .int(reset),
            "closed": .int(closed),
            "abandoned": .int(abandoned),
            "repeatedIDs": .int(repeatedIDs),
            "acceptedTwice": .int(acceptedTwice),
            "connections": [
                "opened": .int(connectionsOpened),
                "open": .int(connectionsOpen),
                "refused": .int(connectionsRefused),
                "handshakesFailed": .int(handshakesFailed),
            ],
        ]
    }

    private static func counts(_ pairs: [(String, Int)]) -> JSON.Value {
        var object = JSON.Object()
        for (name, count) in pairs.sorted(by: { $0.0 < $1.0 }) { object[name] = .int(count) }
        return .object(object)
    }
}

extension SimulatorState {
    /// The answer to `GET /stats`.
    package var statisticsJSON: JSON.Value {
        var object = JSON.Object()
        for environment in PushEnvironment.allCases {
            object[environment.rawValue] = statistics[environment].json
        }
        object["lastPush"] = .int(log.last)
        object["kept"] = .int(log.kept)
        object["dropped"] = .int(log.dropped)
        return .object(object)
    }
}
