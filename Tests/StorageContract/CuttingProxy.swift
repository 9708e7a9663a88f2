import CEvent
import Glibc
import Storage

/// A TCP proxy on loopback that treats connections the way unreliable networks and dying servers do.
///
/// One thread moves the bytes; an order takes effect before the next byte moves.
package final class CuttingProxy: @unchecked Sendable {
    // why: sockets belong to the thread, orders are guarded

    /// The direction of the bytes.
    package enum Direction: String, Sendable, CaseIterable {
        /// Requests.
        case toServer
        /// Responses.
        case toClient
    }

    private enum Mode {
        case pass, hold, holdAnswers, refuse
    }

    private struct Orders {
        var mode = Mode.pass
        var cut: (direction: Direction, chunksLeft: Int, isRefusing: Bool)?
        var hasCut = false
        var isEnded = false
        var isForgetting = false
        var isObeyed = true
        var delay: UInt32 = 0
    }

    private struct Pair {
        let client: Int32
        let server: Int32
    }

    /// The port on which the proxy listens on 127.0.0.1.
    package let port: UInt16
    private let serverPort: UInt16
    /// Bound as long as the proxy exists, so that nobody else gets the port while the proxy refuses connections.
    private let listener: Int32
    private var isListening = true
    private var pairs: [Pair] = []
    /// Connections that stay open but are never looked at again.
    private var forgotten: [Pair] = []
    private let orders = Guarded(Orders())
    private let wakeUp: (read: Int32, write: Int32)

    /// Starts a proxy in front of a server on 127.0.0.1.
    package init(before serverPort: UInt16) throws {
        self.serverPort = serverPort
        (listener, port) = try Self.listen()
        var ends: [Int32] = [0, 0]
        guard pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0 else { throw ProxyError(call: "pipe2", code: errno) }
        wakeUp = (ends[0], ends[1])
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<CuttingProxy>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context)
        guard status == 0 else { throw ProxyError(call: "pthread_create", code: status) }
        pthread_detach(thread)
    }

    /// Lets bytes pass and connections in, as at the beginning.
    package func pass() { order { $0.mode = .pass } }

    /// Lets no bytes pass but keeps connections open, like a server that hangs.
    package func hold() { order { $0.mode = .hold } }

    /// Lets requests pass but holds responses, like a server that executes its requests but responds late.
    package func holdAnswers() { order { $0.mode = .holdAnswers } }

    /// Delays each request, as if the server were far away.
    package func delay(milliseconds: UInt32) { order { $0.delay = milliseconds } }

    /// Closes every connection and refuses new ones, like a server that is down.
    package func refuse() { order { $0.mode = .refuse } }

    /// Closes the connection that carries the chunk after `chunks` others in a direction; that chunk is lost.
    ///
    /// - Parameter isRefusing: Whether new connections are refused from then on, until ``pass()``.
    package func cut(_ direction: Direction, after chunks: Int, refusing isRefusing: Bool = false) {
        order {
            $0.cut = (direction, chunks, isRefusing)
            $0.hasCut = false
        }
    }

    /// Cancels the last `cut` and returns whether it had taken effect.
    package func wasCut() -> Bool {
        let hasCut = orders.withLock { orders in
            defer { orders.hasCut = false }
            return orders.hasCut
        }
        order { $0.cut = nil }
        return hasCut
    }

    /// Lets no bytes of existing connections pass and keeps them open; new ones work.
    ///
    /// Simulates a network that silently drops connections.
    package func forget() { order { $0.isForgetting = true } }

    /// Closes all connections and ends the proxy.
    package func end() { order { $0.isEnded = true } }

    /// Gives an order and returns when the thread has received it.
    private func order(_ change: (inout Orders) -> Void) {
        orders.withLock { orders in
            change(&orders)
            orders.isObeyed = false
        }
        _ = write(wakeUp.write, "!", 1)
        while !orders.withLock({ $0.isObeyed }) { sched_yield() }
    }
}

/// A failed system call.
package struct ProxyError: Error {
    let call: String
    let code: Int32
}

// MARK: - The thread

extension CuttingProxy {
    private func run() {
        while true {
            var descriptors = [pollfd(fd: wakeUp.read, events: Int16(POLLIN), revents: 0)]
            descriptors.append(pollfd(fd: isListening ? listener : -1, events: Int16(POLLIN), revents: 0))
            let mode = orders.withLock(\.mode)
            for pair in pairs where mode != .hold {
                descriptors.append(pollfd(fd: pair.client, events: Int16(POLLIN), revents: 0))
                guard mode != .holdAnswers else { continue }
                descriptors.append(pollfd(fd: pair.server, events: Int16(POLLIN), revents: 0))
            }
            guard poll(&descriptors, nfds_t(descriptors.count), -1) >= 0 || errno == EINTR else { return }
            if descriptors[0].revents != 0 {
                guard obey() else { return }
                continue
            }
            if descriptors[1].revents != 0 { acceptClient() }
            let ready = Set(descriptors.dropFirst(2).filter { $0.revents != 0 }.map(\.fd))
            for pair in pairs {
                if ready.contains(pair.client) { move(pair, .toServer) }
                if ready.contains(pair.server), isOpen(pair) { move(pair, .toClient) }
            }
        }
    }

    /// Executes the orders; returns false if the thread should end.
    private func obey() -> Bool {
        var drain = [UInt8](repeating: 0, count: 64)
        while read(wakeUp.read, &drain, drain.count) > 0 {}
        let (mode, isEnded, isForgetting) = orders.withLock { orders in
            defer { orders.isForgetting = false }
            return (orders.mode, orders.isEnded, orders.isForgetting)
        }
        if isForgetting {
            forgotten += pairs
            pairs = []
        }
        if isEnded || mode == .refuse {
            closeAll()
        } else if !isListening {
            let status = Glibc.listen(listener, 64)
            precondition(status == 0, "the proxy's port can't be used again: error \(errno)")
            isListening = true
        }
        if isEnded {
            Glibc.close(listener)
            Glibc.close(wakeUp.read)
            Glibc.close(wakeUp.write)
        }
        orders.withLock { $0.isObeyed = true }
        return !isEnded
    }

    private func closeAll() {
        pairs += forgotten
        forgotten = []
        for pair in pairs { close(pair) }
        guard isListening else { return }
        // New connections are refused until the next `listen`.
        _ = shutdown(listener, Int32(SHUT_RDWR))
        isListening = false
    }

    private func acceptClient() {
        let client = relay_accept(listener, nil, nil)
        guard client >= 0 else { return }
        // Sending to it may block: the test sends only a few bytes.
        _ = fcntl(client, F_SETFL, 0)
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let address = Self.loopback(serverPort)
        let status = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                relay_connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let pair = Pair(client: client, server: server)
        pairs.append(pair)
        if status != 0 { close(pair) }
    }

    private func move(_ pair: Pair, _ direction: Direction) {
        let (from, to) =
            direction == .toServer ? (pair.client, pair.server) : (pair.server, pair.client)
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(from, &bytes, bytes.count, 0)
        guard count > 0, !isToCut(direction) else {
            close(pair)
            if orders.withLock({ $0.mode == .refuse }) { closeAll() }
            return
        }
        if direction == .toServer { usleep(1_000 * orders.withLock { $0.delay }) }
        var sent = 0
        while sent < count {
            let more = bytes[sent..<count].withUnsafeBytes {
                send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard more > 0 else { return close(pair) }
            sent += more
        }
    }

    private func isToCut(_ direction: Direction) -> Bool {
        orders.withLock { orders in
            guard let cut = orders.cut, cut.direction == direction else { return false }
            guard cut.chunksLeft == 0 else {
                orders.cut?.chunksLeft -= 1
                return false
            }
            orders.cut = nil
            orders.hasCut = true
            if cut.isRefusing { orders.mode = .refuse }
            return true
        }
    }

    private func isOpen(_ pair: Pair) -> Bool {
        pairs.contains { $0.client == pair.client }
    }

    private func close(_ pair: Pair) {
        guard isOpen(pair) else { return }
        pairs.removeAll { $0.client == pair.client }
        Glibc.close(pair.client)
        Glibc.close(pair.server)
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Listens on a free port, which the socket keeps when it is shut down.
    private static func listen() throws -> (Int32, UInt16) {
        // The kernel chooses the port for another socket: only one that asks for a port by its number keeps it.
        let (finder, port) = try bind(to: 0)
        defer { Glibc.close(finder) }
        let (listener, _) = try bind(to: port)
        guard Glibc.listen(listener, 64) == 0 else { throw ProxyError(call: "listen", code: errno) }
        return (listener, port)
    }

    private static func bind(to port: UInt16) throws -> (Int32, UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        // Also lets two sockets have the same port as long as neither listens.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = loopback(port)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                guard relay_bind(descriptor, $0, length) == 0 else { return errno }
                return relay_getsockname(descriptor, $0, &length)
            }
        }
        guard status == 0 else { throw ProxyError(call: "bind", code: status) }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}
