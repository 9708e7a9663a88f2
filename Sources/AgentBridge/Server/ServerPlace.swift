import JSON
import Network
import WebClient

/// An OpenCode server's address and credentials.
struct ServerPlace: Sendable, Equatable {
    /// How the address was found.
    enum Origin: Sendable, Equatable {
        case setting
        /// The file in which a background server of 2.x describes itself.
        case serviceFile(String)
        case standard
    }

    let address: WebAddress
    let credentials: WebCredentials?
    let origin: Origin

    /// The address with the port that OpenCode tries first.
    static let standardAddress = "http://127.0.0.1:4096"

    /// Finds the server: the given address, otherwise the service file, otherwise OpenCode's standard port.
    ///
    /// - Parameter serviceFiles: The paths and contents of the service files, the preferred one first.
    static func find(
        given: WebAddress?, environment: [String: String], serviceFiles: () -> [(String, [UInt8])]
    ) -> ServerPlace? {
        let credentials = credentials(environment)
        if let given { return ServerPlace(address: given, credentials: credentials, origin: .setting) }
        for (path, bytes) in serviceFiles() {
            guard let file = try? JSON.parse(bytes, maxBytes: Bounds.settingFileBytesMax),
                let url = file["url"]?.string, let address = try? WebAddress(url)
            else { continue }
            let own = file["password"]?.string.map { WebCredentials(user: defaultUser, password: $0) }
            return ServerPlace(
                address: address, credentials: own ?? credentials, origin: .serviceFile(path))
        }
        guard let address = try? WebAddress(standardAddress) else { return nil }
        return ServerPlace(address: address, credentials: credentials, origin: .standard)
    }

    private static let defaultUser = "opencode"

    /// Credentials from the variables that OpenCode itself reads: 2.x's variables first, then 1.x's.
    static func credentials(_ environment: [String: String]) -> WebCredentials? {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let password = value("OPENCODE_PASSWORD") {
            return WebCredentials(user: defaultUser, password: password)
        }
        return value("OPENCODE_SERVER_PASSWORD").map {
            WebCredentials(user: value("OPENCODE_SERVER_USERNAME") ?? defaultUser, password: $0)
        }
    }
}
