/// The two separate APNs services.
///
/// A device token belongs to one of them.
package enum PushEnvironment: String, CaseIterable, Hashable, Sendable {
    case production
    case sandbox
}

/// One value per environment.
package struct PerEnvironment<Value> {
    private var production: Value
    private var sandbox: Value

    /// Uses the same value for both environments.
    package init(_ value: Value) {
        production = value
        sandbox = value
    }

    /// The value for an environment.
    package subscript(_ environment: PushEnvironment) -> Value {
        get { environment == .production ? production : sandbox }
        _modify {
            switch environment {
            case .production: yield &production
            case .sandbox: yield &sandbox
            }
        }
    }
}

extension PerEnvironment: Sendable where Value: Sendable {}
