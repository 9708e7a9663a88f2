package import JSON

extension DeviceRegistry {
    /// A token with one registration, as the control API reads and writes it.
    package struct Entry: Hashable, Sendable {
        package let token: String
        package let registration: Registration

        private enum StateName: String, CaseIterable { case valid, unregistered, expired }

        /// Parses `{"token", "topic"?, "environment"?, "state"?, "since"?}`.
        ///
        /// - Parameter now: Milliseconds since 1970; the default of `since`.
        package init(_ value: JSON.Value, now: Int64) throws(ControlError) {
            var fields = try FieldReader(value, "a token")
            guard let token = try fields.deviceToken("token") else {
                throw ControlError("a token needs the field `token`")
            }
            let topic = try fields.string("topic")
            let environment = try fields.choice("environment", of: PushEnvironment.self)
            let name = try fields.choice("state", of: StateName.self) ?? .valid
            let since = try fields.int("since", in: 0...Int.max)
            try fields.finish()
            guard name != .valid || since == nil else {
                throw ControlError("`since` is only for the states \"unregistered\" and \"expired\"")
            }
            let time = since.map { Int64($0) } ?? now
            let state: State =
                switch name {
                case .valid: .valid
                case .unregistered: .unregistered(since: time)
                case .expired: .expired(since: time)
                }
            self.token = token
            registration = Registration(environment: environment, topic: topic, state: state)
        }

        /// Creates an entry from its parts.
        package init(token: String, registration: Registration) {
            self.token = token
            self.registration = registration
        }

        /// The JSON that ``init(_:now:)`` parses.
        package var json: JSON.Value {
            var object = JSON.Object()
            object["token"] = .string(token)
            object["topic"] = registration.topic.map { .string($0) }
            object["environment"] = registration.environment.map { .string($0.rawValue) }
            switch registration.state {
            case .valid: object["state"] = "valid"
            case .unregistered(let since):
                object["state"] = "unregistered"
                object["since"] = .int(since)
            case .expired(let since):
                object["state"] = "expired"
                object["since"] = .int(since)
            }
            return .object(object)
        }
    }
}
