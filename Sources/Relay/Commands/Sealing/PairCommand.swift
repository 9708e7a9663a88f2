import Glibc
import Network
import PushSealing
import QRCode

/// `relay pair`: makes a pairing secret and shows it to a phone.
enum PairCommand {
    /// Prints the QR code, the link and the JSON of a new pairing; with `--json` only the last.
    static func run(_ options: CommandOptions) -> ExitStatus {
        do throws(ExitStatus) {
            let pairing = try make(options)
            let scheme = options.text(.scheme) ?? Pairing.schemeDefault
            let link = pairing.link(scheme: scheme)
            guard let code = QRCode(link) else {
                StandardError.message("the link is too long for a QR code: use shorter names and fewer hosts")
                throw .usage
            }
            if let path = options.text(.png) { try write(code.png(), to: path) }
            if pairing.relayURLHasPath, scheme == Pairing.schemeDefault {
                StandardError.message(
                    "warning: OpenCode's app ignores the path in \(pairing.relayURL) and would not find the relay"
                )
            }
            StandardOutput.write(
                options.has(.json)
                    ? pairing.json + "\n" : code.terminalText + "\n\(link)\n\n\(pairing.json)\n")
            return .success
        } catch {
            return error
        }
    }

    private static func make(_ options: CommandOptions) throws(ExitStatus) -> Pairing {
        guard let url = options.text(.relayURL) else {
            StandardError.message("relay pair needs --relay-url URL. \(HelpText.hint(.pair))")
            throw .usage
        }
        var hosts = options.texts(.host)
        // OpenCode's app requires a host, and asks it for /health, which the relay answers.
        if hosts.isEmpty { hosts = [url] }
        try requireUsable([url] + hosts, isLocal: options.has(.local))
        do throws(PairingFailure) {
            return try Pairing(relayURL: url, hosts: hosts, serverID: options.text(.name))
        } catch {
            StandardError.message(
                "\(CommandOption.relayURL.rawValue) is not valid: expected a URL without user, query and fragment"
            )
            throw .usage
        }
    }

    /// Refuses addresses that no phone reaches and ports that don't exist: the app would fail later, without a word.
    private static func requireUsable(_ addresses: [String], isLocal: Bool) throws(ExitStatus) {
        for text in addresses {
            switch Result(catching: { () throws(WebAddress.Problem) in try WebAddress(text) }) {
            case .success(let address) where !isLocal && !address.isReachableFromElsewhere:
                StandardError.message(
                    "no phone reaches \(Quoted.value(text)): use an address that phones reach, or add --local if the app "
                        + "runs on this machine, such as in a simulator")
                throw .usage
            case .failure(.port):
                StandardError.message("\(Quoted.value(text)) has no valid port: use 1 to 65535")
                throw .usage
            // What else is wrong with an address is the pairing's to say.
            default: continue
            }
        }
    }

    /// Writes a new file that only the user can read.
    private static func write(_ bytes: [UInt8], to path: String) throws(ExitStatus) {
        // An existing file could be readable for others.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        var fault = descriptor < 0 ? errno : nil
        if descriptor >= 0 {
            fault = FileDescriptorOutput.write(bytes, to: descriptor)
            if close(descriptor) != 0, fault == nil { fault = errno }
        }
        guard let fault else { return }
        StandardError.message("cannot write \(Quoted.name(path)): \(FileFault(errno: fault).reason)")
        throw .output
    }
}
