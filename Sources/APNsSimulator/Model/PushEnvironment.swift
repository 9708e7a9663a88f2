/// The two separate services that APNs consists of.
///
/// A device token belongs to one of them.
package enum PushEnvironment: String, CaseIterable, Hashable, Sendable {
    case production
    case sandbox
}

/// A value for each environment.
package struct PerEnvironment<Value> {
    private var production: Value
    private var sandbox: Value

    /// The same value for both.
    package init(_ value: Value) {
        production = value
        sandbox = value
    }

    /// The environment's value.
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
