internal import CMariaDB
internal import Glibc

/// How long one connection may wait for its server.
///
/// libmariadb's own timeouts are in whole seconds, can't change after connecting, and restart with each packet. So
/// libmariadb calls `hook` to wait instead. The hook gets only the socket, so the active connection is kept in
/// thread-local storage.
@safe
final class MySQLWait {
    /// The time at which waiting ends.
    var deadline = ContinuousClock.now
    /// Whether the connection uses TLS.
    var isEncrypted = false

    /// The function for `MARIADB_OPT_IO_WAIT`.
    static var hook: @convention(c) (my_socket, my_bool, Int32) -> Int32 {
        { socket, isRead, _ in
            guard let current = unsafe pthread_getspecific(MySQLWait.key) else { return -1 }
            let wait = unsafe Unmanaged<MySQLWait>.fromOpaque(current).takeUnretainedValue()
            return wait.poll(socket, isRead != 0)
        }
    }

    /// Calls into libmariadb, whose waits then end at `deadline`.
    func during<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, nil) }
        return body()
    }

    /// Whether the deadline has passed.
    var isOver: Bool { ContinuousClock.now >= deadline }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let status = unsafe pthread_key_create(&key, nil)
        precondition(status == 0, "no thread-specific value left")
        return key
    }()

    /// Milliseconds after which an encrypted connection checks the socket again.
    private static let encryptedSlice: Int32 = 50

    /// Waits like poll(2): returns more than 0 when the socket is ready, 0 at the deadline.
    private func poll(_ socket: my_socket, _ isRead: Bool) -> Int32 {
        while true {
            let left = (deadline - .now) / .milliseconds(1)
            guard left > 0 else {
                errno = ETIMEDOUT
                return 0
            }
            var descriptor = pollfd(fd: socket, events: Int16(isRead ? POLLIN : POLLOUT), revents: 0)
            var milliseconds = Int32(min(left.rounded(.up), 60_000))
            if isEncrypted {
                // libmariadb waits until it can read even if OpenSSL can't write. So this also returns when a full
                // socket has room again, and occasionally for no reason; OpenSSL then simply waits again.
                if !isWritable(socket) { descriptor.events = Int16(POLLIN | POLLOUT) }
                milliseconds = min(milliseconds, Self.encryptedSlice)
            }
            let ready = unsafe Glibc.poll(&descriptor, 1, milliseconds)
            if ready > 0 || (ready == 0 && isEncrypted && !isOver) { return 1 }
            guard ready == 0 || errno == EINTR else { return -1 }
        }
    }

    private func isWritable(_ socket: my_socket) -> Bool {
        var descriptor = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
        return unsafe Glibc.poll(&descriptor, 1, 0) > 0
    }
}
