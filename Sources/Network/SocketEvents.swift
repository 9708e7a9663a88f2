import CEvent

/// Watches one socket through libevent for the readiness events that are enabled.
@safe struct SocketEvents: ~Copyable {
    private let read: OpaquePointer?
    private let write: OpaquePointer?
    private(set) var isReading = false
    private(set) var isWriting = false

    /// Watches nothing yet; `callback` gets `context` and libevent's flags.
    init(
        _ loop: EventLoop, _ descriptor: Int32, _ context: UnsafeMutableRawPointer,
        _ callback: @convention(c) (Int32, Int16, UnsafeMutableRawPointer?) -> Void
    ) {
        let base = unsafe loop.reactor.base
        unsafe read = event_new(base, descriptor, Int16(EV_READ | EV_PERSIST), callback, context)
        unsafe write = event_new(base, descriptor, Int16(EV_WRITE | EV_PERSIST), callback, context)
    }

    deinit {
        if let read = unsafe read { unsafe event_free(read) }
        if let write = unsafe write { unsafe event_free(write) }
    }

    mutating func setReading(_ wanted: Bool) {
        guard wanted != isReading, let read = unsafe read else { return }
        _ = unsafe wanted ? event_add(read, nil) : event_del(read)
        isReading = wanted
    }

    mutating func setWriting(_ wanted: Bool) {
        guard wanted != isWriting, let write = unsafe write else { return }
        _ = unsafe wanted ? event_add(write, nil) : event_del(write)
        isWriting = wanted
    }
}
