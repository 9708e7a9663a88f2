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

/// A sender for each environment.
///
/// Confined to its loop.
struct PushSenders {
    let production: any PushSender
    let sandbox: any PushSender

    /// The sender of an environment.
    subscript(_ environment: Environment) -> any PushSender {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }
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
