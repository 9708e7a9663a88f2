import WebPush

/// Sends pushes to push services.
///
/// Confined to its loop.
protocol WebPushSender: AnyObject {
    /// Sends a push; `completion` is called exactly once, on the loop, possibly before this returns.
    ///
    /// The sender limits how long that takes.
    func send(_ push: WebPush.Push, completion: @escaping (WebPush.Outcome) -> Void)
}

extension WebPush.Sender: WebPushSender {}
