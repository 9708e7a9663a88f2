internal import CMariaDB
internal import Glibc

/// How long one connection may wait for its server.
///
/// libmariadb's own timeouts are whole seconds, fixed when it connects, and begin anew with each packet. It can leave
/// its waits to a function, though, which gets the socket and nothing else; so the connection whose call is running
/// stands in a value of the thread.
@safe
final class MySQLWait {
    /// When waiting ends.
    var deadline = ContinuousClock.now
    /// Whether the socket's bytes go through TLS.
    var isEncrypted = false

    /// The function for `MARIADB_OPT_IO_WAIT`.
    static var hook: @convention(c) (my_socket, my_bool, Int32) -> Int32 {
        { socket, isRead, _ in
            guard let current = unsafe pthread_getspecific(MySQLWait.key) else { return -1 }
            let wait = unsafe Unmanaged<MySQLWait>.fromOpaque(current).takeUnretainedValue()
            return wait.poll(socket, isRead != 0)
        }
    }

    /// Calls into libmariadb, whose waits end at `deadline` then.
    func during<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, nil) }
        return body()
    }

    /// Whether the time is over.
    var isOver: Bool { ContinuousClock.now >= deadline }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let status = unsafe pthread_key_create(&key, nil)
        precondition(status == 0, "no thread-specific value left")
        return key
    }()

    /// Milliseconds after which an encrypted connection looks again.
    private static let encryptedSlice: Int32 = 50

    /// As poll(2): more than 0 when the socket is ready, 0 at the deadline.
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
                // libmariadb asks for reading when OpenSSL can't write, too. So this returns as well when a full
                // socket has room, and now and then without a cause: OpenSSL then just asks again.
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
