import Glibc
import HTTPServer
import JSON
import Network
import Programs
import PushSealing

/// The main command: serves the simulated APNs and its control API until a signal arrives.
enum ServeCommand {
    /// How long pending control requests may take when the simulator stops.
    private static let stopDeadline = Duration.seconds(1)

    static func run(_ options: ServeOptions, until stop: StopRequest) async throws(ProgramError) {
        let keys = try keyPolicy(options)
        let directory = try temporaryDirectory()
        let certificateFile = options.certificateFile ?? directory + "/certificate.pem"
        let keyFile = directory + "/key.pem"
        defer {
            if options.certificateFile == nil { unsafe unlink(certificateFile) }
            unsafe rmdir(directory)
        }
        let contexts = try makeTLS(options, certificateFile: certificateFile, keyFile: keyFile)
        if options.certificateFile != nil { unsafe rmdir(directory) }
        let simulator = try await start(options, keys, contexts)
        let loop = EventLoop(label: "control")
        let control = try await serveControl(simulator, options, on: loop)
        let notice = Notice(options, simulator, control: control.address, certificateFile: certificateFile)
        if let readyFile = options.readyFile { try GivenFile.write(notice.readyFile, to: readyFile) }
        StandardOutput.write(notice.text)
        await stop.wait()
        await control.stop(within: stopDeadline)
        await loop.stop()
        await simulator.stop()
    }

    /// A private directory for the certificate and its key.
    private static func temporaryDirectory() throws(ProgramError) -> String {
        do throws(FileError) {
            return try SmallFile.createTemporaryDirectory("apns-simulator-")
        } catch {
            throw ProgramError(.cantCreate, error.reason)
        }
    }

    private static func keyPolicy(_ options: ServeOptions) throws(ProgramError) -> KeyPolicy {
        guard !options.keys.isEmpty else { return .anyKey }
        var keys: [VerificationKey] = []
        for key in options.keys {
            let pem = try GivenFile.read(key.file)
            do throws(PublicKeyError) {
                keys.append(
                    VerificationKey(
                        keyID: key.keyID ?? "", teamID: key.teamID ?? "", environment: key.environment,
                        publicKey: try PublicKey(pem: pem)))
            } catch {
                throw ProgramError(.noInput, "\(key.file) is not a PEM P-256 public key")
            }
        }
        return .keys(keys)
    }

    private static func notificationKeys(_ options: ServeOptions) throws(ProgramError) -> [NotificationKey] {
        var keys: [NotificationKey] = []
        for file in options.pairingFiles {
            let text = String(decoding: try GivenFile.read(file), as: UTF8.self)
            do throws(PairingFailure) {
                guard let secret = try Pairing(parsing: text).key else { throw .missing("key") }
                keys.append(secret.notificationKey)
            } catch {
                throw ProgramError(.noInput, "\(file) is not a pairing with a key: \(error)")
            }
        }
        return keys
    }

    /// The TLS contexts for APNs, which offers only HTTP/2, and for Web Push.
    private struct Contexts {
        let apns: TLSServerContext
        let webPush: TLSServerContext
    }

    /// Creates the certificate and the TLS contexts that use it.
    ///
    /// The certificate's key is removed from disk as soon as it is loaded.
    private static func makeTLS(
        _ options: ServeOptions, certificateFile: String, keyFile: String
    ) throws(ProgramError) -> Contexts {
        let isAddress = { SocketAddress(ip: $0, port: 0) != nil }
        let extra = options.certificateNames + (isAddress(options.host) ? [options.host] : [])
        let made: SelfSignedCertificate
        do throws(NetworkError) {
            made = try SelfSignedCertificate(
                names: ["localhost"] + extra.filter { !isAddress($0) },
                addresses: ["127.0.0.1", "::1"]
                    + extra.filter { isAddress($0) && $0 != "127.0.0.1" && $0 != "::1" })
        } catch {
            throw ProgramError(.unavailable, error.description)
        }
        try GivenFile.write(made.certificate, to: certificateFile)
        try GivenFile.write(made.privateKey, to: keyFile, mode: 0o600)
        defer { unsafe unlink(keyFile) }
        do throws(NetworkError) {
            return Contexts(
                apns: try TLSServerContext(certificateFile: certificateFile, keyFile: keyFile, alpn: ["h2"]),
                webPush: try TLSServerContext(
                    certificateFile: certificateFile, keyFile: keyFile, alpn: ["h2", "http/1.1"]))
        } catch {
            throw ProgramError(.unavailable, error.description)
        }
    }

    private static func start(
        _ options: ServeOptions, _ keys: KeyPolicy, _ contexts: Contexts
    ) async throws(ProgramError) -> Simulator {
        var simulated = Simulator.Options()
        simulated.start = options.start
        simulated.keys = keys
        simulated.loops = options.loops
        simulated.host = options.host
        simulated.productionPort = options.productionPort
        simulated.sandboxPort = options.sandboxPort
        simulated.webPushPort = options.webPushPort
        let names = options.certificateNames.filter { SocketAddress(ip: $0, port: 0) == nil }
        let isLoopback = SocketAddress(ip: options.host, port: 0)?.isLoopback ?? false
        if !isLoopback, let name = names.first { simulated.webPushHost = name }
        simulated.print = options.print
        simulated.notificationKeys = try notificationKeys(options)
        do throws(NetworkError) {
            return try await Simulator.start(simulated, tls: contexts.apns, webPushTLS: contexts.webPush)
        } catch {
            throw ProgramError(.unavailable, error.description)
        }
    }

    private static func serveControl(
        _ simulator: Simulator, _ options: ServeOptions, on loop: EventLoop
    ) async throws(ProgramError) -> HTTPServer {
        do throws(NetworkError) {
            guard let address = SocketAddress(ip: options.controlHost, port: options.controlPort) else {
                throw .badAddress(options.controlHost)
            }
            var server = HTTPServer.Options(address: address)
            server.limits.bodyBytesMax = ControlAPI.bodyBytesMax
            return try await HTTPServer.start(
                ControlAPI(simulator).service, server, ledger: ConnectionLedger(limits: server.limits),
                on: loop)
        } catch {
            throw ProgramError(.unavailable, error.description)
        }
    }
}
