package import JSON

extension Statistics {
    /// The counters for one environment in `GET /stats`.
    package var json: JSON.Value {
        var object = outcomes
        object["repeatedIDs"] = .int(repeatedIDs)
        object["acceptedTwice"] = .int(acceptedTwice)
        object["connections"] = [
            "opened": .int(connectionsOpened),
            "open": .int(connectionsOpen),
            "refused": .int(connectionsRefused),
            "handshakesFailed": .int(handshakesFailed),
        ]
        return .object(object)
    }

    /// The counters for Web Push in `GET /stats`.
    package var webPushJSON: JSON.Value {
        var object = outcomes
        object["undecryptable"] = .int(undecryptable)
        return .object(object)
    }

    private var outcomes: JSON.Object {
        var object = JSON.Object()
        object["pushes"] = .int(pushes)
        object["accepted"] = .int(accepted)
        object["statuses"] = Self.counts(statuses.map { (String($0.key), $0.value) })
        object["reasons"] = Self.counts(reasons.map { ($0.key, $0.value) })
        object["stalled"] = .int(stalled)
        object["reset"] = .int(reset)
        object["closed"] = .int(closed)
        object["abandoned"] = .int(abandoned)
        return object
    }

    private static func counts(_ pairs: [(String, Int)]) -> JSON.Value {
        var object = JSON.Object()
        for (name, count) in pairs.sorted(by: { $0.0 < $1.0 }) { object[name] = .int(count) }
        return .object(object)
    }
}

extension SimulatorState {
    /// The response to `GET /stats`.
    package var statisticsJSON: JSON.Value {
        var object = JSON.Object()
        for environment in PushEnvironment.allCases {
            object[environment.rawValue] = statistics[environment].json
        }
        object["webpush"] = webPushStatistics.webPushJSON
        object["lastPush"] = .int(log.last)
        object["kept"] = .int(log.kept)
        object["dropped"] = .int(log.dropped)
        return .object(object)
    }
}
