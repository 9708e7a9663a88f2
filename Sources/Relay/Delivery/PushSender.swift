import APNs
import Storage

/// Sends pushes to one of APNs' environments.
///
/// Confined to its loop.
protocol PushSender: AnyObject {
    /// Sends a push; `completion` is called exactly once, on the loop, possibly before this returns.
    ///
    /// The sender bounds how long that takes.
    func send(_ push: Push, completion: @escaping (Outcome) -> Void)
}

/// A sender for each key and environment.
///
/// Confined to its loop.
protocol PushSenders: AnyObject {
    /// The sender of the pushes of a key's apps to an environment.
    func sender(of key: AppKey, to environment: Environment) -> any PushSender
}

extension Environment {
    /// The environment that a registration names.
    init(_ environment: DeviceEnvironment) {
        self =
            switch environment {
            case .production: .production
            case .sandbox: .sandbox
            }
    }
}

extension DeviceEnvironment {
    /// The environment as registrations name it.
    init(_ environment: Environment) {
        self =
            switch environment {
            case .production: .production
            case .sandbox: .sandbox
            }
    }
}
