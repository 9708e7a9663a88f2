internal import CMariaDB
internal import Glibc
internal import Storage

/// Opens connections: sets libmariadb's options before connecting, and checks the result.
@safe
struct MySQLConnector {
    private let location: MySQLLocation
    private let wait: MySQLWait
    private let options: ServerOptions

    init(_ location: MySQLLocation, _ wait: MySQLWait, _ options: ServerOptions) {
        self.location = location
        self.wait = wait
        self.options = options
    }

    /// The authentication methods that the client library may use: none of them sends the password in plain text.
    private static let authentication =
        "mysql_native_password,client_ed25519,caching_sha2_password,sha256_password"

    /// Connects to a host, or to the location's socket; the caller must close the handle.
    func connect(to host: MySQLLocation.Host?) throws(SQLFailure) -> UnsafeMutablePointer<MYSQL> {
        _ = Self.prepareLibrary
        try checkFiles()
        guard let handle = unsafe mysql_init(nil) else {
            throw SQLFailure(.connectionLost, .unavailable(logDetail: "no memory for a connection"))
        }
        unsafe configure(handle, isSocket: host == nil)
        let place = host.map { "\($0.name):\($0.port)" } ?? location.socket ?? ""
        let opened = unsafe wait.during {
            unsafe mysql_real_connect(
                handle, host?.name, location.user,
                location.password.map { String(decoding: $0.bytes, as: UTF8.self) },
                location.database, UInt32(host?.port ?? 0), host == nil ? location.socket : nil,
                UInt(CLIENT_FOUND_ROWS))
        }
        guard unsafe opened != nil else {
            let failure = unsafe MySQLError.failure(
                mysql_errno(handle), String(cString: mysql_error(handle)), doing: "connecting to \(place)",
                isTimeUp: wait.isOver)
            wait.during { unsafe mysql_close(handle) }
            throw failure
        }
        wait.isEncrypted = unsafe mysql_get_ssl_cipher(handle) != nil
        // libmariadb falls back to plain text if the server offers no TLS, which only some modes allow.
        guard wait.isEncrypted || location.tlsMode == .disabled || location.tlsMode == .preferred else {
            wait.during { unsafe mysql_close(handle) }
            throw SQLFailure(.other, .refused(logDetail: "\(place) offers no TLS"), mayBeDone: false)
        }
        // With TLS, libmariadb reads from a blocking socket without calling `wait` first.
        let socket = unsafe mysql_get_socket(handle)
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
        if host != nil { keepAlive(socket) }
        return unsafe handle
    }

    /// Makes the kernel probe an idle connection, so that no firewall in between drops it.
    private func keepAlive(_ socket: my_socket) {
        let probes = options.keepAlive
        for (level, name, value) in [
            (SOL_SOCKET, SO_KEEPALIVE, 1), (Int32(IPPROTO_TCP), TCP_KEEPIDLE, probes.idleSeconds),
            (Int32(IPPROTO_TCP), TCP_KEEPINTVL, probes.intervalSeconds),
            (Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, probes.unansweredMilliseconds),
        ] {
            var value = Int32(value)
            unsafe setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    /// Initializes the library once: the first `mysql_init` would otherwise do so, which isn't thread-safe.
    private static let prepareLibrary: Void = {
        _ = mysql_server_init(0, nil, nil)
    }()

    /// Reports an unreadable file by name, because the library's message doesn't contain the name.
    private func checkFiles() throws(SQLFailure) {
        for path in [location.authorityFile, location.certificateFile, location.keyFile].compactMap(\.self) {
            guard unsafe access(path, R_OK) == 0 else {
                let reason = unsafe String(cString: strerror(errno))
                throw SQLFailure(.other, .refused(logDetail: "\(path): \(reason)"))
            }
        }
    }

    private func configure(_ handle: UnsafeMutablePointer<MYSQL>, isSocket: Bool) {
        let seconds = UInt32(max(1, (options.connectTimeout / .seconds(1)).rounded(.up)))
        unsafe set(handle, MYSQL_OPT_CONNECT_TIMEOUT, seconds)
        // Only for reads while connecting; later, `wait` sets the limit.
        unsafe set(handle, MYSQL_OPT_READ_TIMEOUT, seconds)
        unsafe set(handle, MYSQL_OPT_WRITE_TIMEOUT, seconds)
        unsafe mysql_options(
            handle, MARIADB_OPT_IO_WAIT, unsafeBitCast(MySQLWait.hook, to: UnsafeRawPointer.self))
        // Otherwise libmariadb would use a socket for "localhost".
        let way = isSocket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP
        unsafe set(handle, MYSQL_OPT_PROTOCOL, way.rawValue)
        unsafe mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4")
        unsafe mysql_options(handle, MARIADB_OPT_RESTRICTED_AUTH, Self.authentication)
        // The server must not be able to request files from this machine.
        unsafe set(handle, MYSQL_OPT_LOCAL_INFILE, UInt32(0))
        unsafe mysql_options4(handle, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "relay")
        guard location.tlsMode != .disabled else { return }
        unsafe set(handle, MYSQL_OPT_SSL_ENFORCE, my_bool(1))
        unsafe set(
            handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, my_bool(location.tlsMode == .verifyIdentity ? 1 : 0))
        // If an authority is set, the library requires a certificate from it in every mode.
        if let file = location.authorityFile { unsafe mysql_options(handle, MYSQL_OPT_SSL_CA, file) }
        if let file = location.certificateFile { unsafe mysql_options(handle, MYSQL_OPT_SSL_CERT, file) }
        if let file = location.keyFile { unsafe mysql_options(handle, MYSQL_OPT_SSL_KEY, file) }
    }

    private func set<Value>(_ handle: UnsafeMutablePointer<MYSQL>, _ option: mysql_option, _ value: Value) {
        unsafe withUnsafePointer(to: value) { _ = unsafe mysql_options(handle, option, $0) }
    }
}
