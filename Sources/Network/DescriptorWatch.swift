internal import CEvent

/// Watches a descriptor that other code owns, such as the socket of a C library.
///
/// Confined to its loop. Must be released before the descriptor is closed.
package final class DescriptorWatch {
    private let handle: (_ isReadable: Bool, _ isWritable: Bool) -> Void
    private var events: SocketEvents?

    /// Watches nothing yet; `handle` is called on `loop` while what is watched for holds.
    ///
    /// `handle` should hold its owner weakly.
    package init(
        _ descriptor: Int32, on loop: EventLoop,
        _ handle: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void
    ) {
        loop.reactor.preconditionOnLoop()
        self.handle = handle
        unsafe events = SocketEvents(
            loop, descriptor, Unmanaged.passUnretained(self).toOpaque(), descriptorEvent)
    }

    /// Changes what is watched for.
    package func watch(reading: Bool, writing: Bool) {
        events?.setReading(reading)
        events?.setWriting(writing)
    }

    fileprivate func event(_ events: Int32) {
        handle(events & EV_READ != 0, events & EV_WRITE != 0)
    }
}

private func descriptorEvent(_ descriptor: Int32, _ events: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    // Keep the watch alive while it is called: its owner may drop it.
    let watch = unsafe Unmanaged<DescriptorWatch>.fromOpaque(context).takeUnretainedValue()
    watch.event(Int32(events))
}
