import Network

/// Checks whether the relay's addresses are available.
enum ListenCheck {
    /// Checks the address for clients.
    ///
    /// For `relay check`, an address in use is only a warning: the running relay may be using it.
    static func main(_ subject: PreconditionSubject) -> [CheckFinding] {
        guard let server = subject.server, let address = SocketAddress(ip: server.host, port: server.port),
            address.port != 0
        else { return [] }
        do throws(NetworkError) {
            try Listener.checkFree(address)
            return [.ok(.listen, address.description, "free")]
        } catch {
            guard case .addressInUse = error else {
                return [.fault(.addressUnusable, .listen, "HOST, PORT", error.description)]
            }
            if subject.relayRuns { return [.ok(.listen, address.description, "the running relay uses it")] }
            return [
                .fault(
                    .addressTaken, .listen, "HOST, PORT", error.description,
                    status: subject.isCheck ? .warning : .failed)
            ]
        }
    }

    /// Checks the admin listener's address.
    ///
    /// If only the default address is in use, the relay starts without the admin listener.
    static func admin(_ subject: PreconditionSubject) async -> [CheckFinding] {
        guard let listen = subject.server?.adminListen, !listen.isOff, listen.address?.port != 0 else {
            return []
        }
        let setting = "RELAY_ADMIN_LISTEN"
        do throws(NetworkError) {
            if let path = listen.unixPath { try Listener.checkFree(unixPath: path) }
            if let address = listen.address { try Listener.checkFree(address) }
            return [.ok(.listen, listen.text, "free for the admin listener")]
        } catch {
            guard case .addressInUse = error else {
                return [.fault(.addressUnusable, .listen, setting, error.description)]
            }
            if subject.relayRuns, await isRelay(listen) {
                return [.ok(.listen, listen.text, "the running relay's admin listener uses it")]
            }
            return [
                .fault(
                    .adminAddressTaken, .listen, setting, error.description + ", or off",
                    status: listen.isDefault ? .warning : .failed)
            ]
        }
    }

    /// Whether a relay is listening at the address; assumed for a Unix socket, whose directory is the relay's own.
    private static func isRelay(_ listen: ListenAddress) async -> Bool {
        guard let address = listen.address else { return true }
        let place = HealthConfiguration(port: address.port, host: address.host, isTLS: false)
        return RelayCheck.isRelay(await RelayCheck.finding(place))
    }
}
