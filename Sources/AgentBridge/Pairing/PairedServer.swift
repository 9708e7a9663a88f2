import Network
import Programs

/// The OpenCode server that phones are paired with, if it answers.
struct PairedServer: Sendable {
    let address: WebAddress
    /// `nil` if the server doesn't answer, or rejects the password.
    private let client: OpenCodeClient?
    /// Why there is no client.
    let fault: ServerError?
    /// The addresses that the server itself reports.
    let reported: [WebAddress]

    /// Connects to a server, blocking until it answers or fails.
    init(_ place: ServerPlace) {
        let connected = Self.wait { () -> Result<OpenCodeClient, ServerError> in
            do throws(ServerError) {
                return .success(try await OpenCodeClient.connect(place, ServerMemory()))
            } catch {
                return .failure(error)
            }
        }
        address = place.address
        switch connected {
        case .success(let client):
            self.client = client
            fault = nil
            reported = Self.wait { await client.addresses() } ?? []
        case .failure(let error):
            (client, fault, reported) = (nil, error, [])
        case nil:
            (client, fault, reported) = (nil, nil, [])
        }
    }

    /// Whether phones may reach the server: a local one that reports only addresses that other machines can't reach
    /// listens nowhere else.
    var isReachable: Bool {
        !ServerHosts.isLocal(address) || reported.isEmpty
            || reported.contains(where: \.isReachableFromElsewhere)
    }

    /// A new one-time code from the server, or `nil` if it offers none; blocks until the server answers.
    func code() throws(ServerError) -> String? {
        guard let client else {
            if fault == .unauthorized { throw .unauthorized }
            return nil
        }
        let made = Self.wait { () -> Result<String?, ServerError> in
            do throws(ServerError) {
                return .success(try await client.pairingCode())
            } catch {
                return .failure(error)
            }
        }
        return try made?.get() ?? nil
    }

    /// Waits for a value; `nil` if a signal ends the wait.
    private static func wait<Value: Sendable>(_ make: @escaping @Sendable () async -> Value) -> Value? {
        let made = Lock<Value?>(nil)
        _ = CommandTask.run {
            let value = await make()
            made.withLock { $0 = value }
            return .success
        }
        return made.withLock { $0 }
    }
}
