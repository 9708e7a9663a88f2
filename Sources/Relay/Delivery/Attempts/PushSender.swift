import APNs
import Storage

/// Sends pushes to one of APNs' environments.
///
/// Confined to its loop.
protocol PushSender: AnyObject {
    /// Sends a push; `completion` is called exactly once, on the loop, possibly before this returns.
    ///
    /// The sender limits how long that takes.
    func send(_ push: Push, completion: @escaping (Outcome) -> Void)
}

/// Provides a sender for each key and environment.
///
/// Confined to its loop.
protocol PushSenders: AnyObject {
    func sender(of key: AppKey, to environment: Environment) -> any PushSender
}

extension Environment {
    /// The environment in a registration.
    init(_ environment: DeviceEnvironment) {
        self =
            switch environment {
            case .production: .production
            case .sandbox: .sandbox
            }
    }
}

extension DeviceEnvironment {
    /// The environment as registrations store it.
    init(_ environment: Environment) {
        self =
            switch environment {
            case .production: .production
            case .sandbox: .sandbox
            }
    }
}
