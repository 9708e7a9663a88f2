import Network

extension EventLoop {
    /// Waits on this loop.
    ///
    /// Call it only on the loop.
    nonisolated(nonsending) func pause(_ duration: Duration) async {
        var timer: Timer?
        await withCheckedContinuation { continuation in
            timer = Timer(on: self) { continuation.resume() }
            timer?.schedule(after: duration)
        }
        timer?.cancel()
    }
}
