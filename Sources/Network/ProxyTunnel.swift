import CEvent
import Glibc

/// Requests a tunnel from a proxy on a connected socket and reports the result.
///
/// Confined to the loop and bounded in time. The socket stays open and belongs to the caller.
@safe final class ProxyTunnel {
    private let descriptor: Int32
    private var request: ArraySlice<UInt8>
    private var answer = ProxyAnswer()
    private var events: SocketEvents?
    private var timer: Timer?
    private var finished: ((ChannelCloseReason?) -> Void)?

    /// - Parameter finished: Called once, with `nil` when the tunnel is open.
    init(
        _ descriptor: Int32, request: [UInt8], on loop: EventLoop, within limit: Duration,
        finished: @escaping (ChannelCloseReason?) -> Void
    ) {
        self.descriptor = descriptor
        self.request = request[...]
        self.finished = finished
        let timer = Timer(on: loop) { [weak self] in self?.finish(.connectTimeout) }
        timer.schedule(after: limit)
        self.timer = timer
        unsafe events = SocketEvents(
            loop, descriptor, Unmanaged.passUnretained(self).toOpaque(), tunnelEvent)
        events?.setWriting(true)
    }

    fileprivate func ready() {
        // The owner may release this object while it finishes.
        withExtendedLifetime(self) {
            if !request.isEmpty { send() } else { receive() }
        }
    }

    private func send() {
        let count = unsafe request.withUnsafeBytes { unsafe sendBytes($0, to: descriptor) }
        guard count > 0 else { return failed() }
        request = request.dropFirst(count)
        guard request.isEmpty else { return }
        events?.setWriting(false)
        events?.setReading(true)
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 2048)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe recv(descriptor, bytes.baseAddress, bytes.count, 0)
        }
        guard count != 0 else { return finish(.proxy("it closed the connection without answering")) }
        guard count > 0 else { return failed() }
        guard let verdict = answer.take(buffer[..<count]) else { return }
        finish(verdict.closeReason)
    }

    private func failed() {
        let code = errno
        guard code != EAGAIN, code != EWOULDBLOCK, code != EINTR else { return }
        finish(.failed(errno: code))
    }

    private func finish(_ reason: ChannelCloseReason?) {
        events = nil
        timer = nil
        let finished = finished
        self.finished = nil
        finished?(reason)
    }
}

private func tunnelEvent(_ descriptor: Int32, _ events: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<ProxyTunnel>.fromOpaque(context).takeUnretainedValue().ready()
}
