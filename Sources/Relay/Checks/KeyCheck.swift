import APNs
import Glibc
import Network
import Programs

/// Checks the signing keys and their files.
enum KeyCheck {
    /// A finding for each usable key, and one for each file with a problem.
    static func findings(_ configuration: CheckConfiguration) -> [CheckFinding] {
        var findings: [CheckFinding] = []
        var isFileWrong = false
        let files = [configuration.keyFile].compactMap(\.self) + configuration.appKeyFiles.map { ($0, nil) }
        for (path, keyID) in files {
            let found = file(path, keyID: keyID)
            isFileWrong = isFileWrong || found.contains { $0.status == .failed }
            findings += found
        }
        guard let apps = configuration.apps else {
            if !isFileWrong {
                findings.append(.skipped(.key, "", "no usable key is configured"))
            }
            return findings
        }
        return signing(apps) + findings
    }

    /// Whether each key can sign.
    static func signing(_ apps: Apps) -> [CheckFinding] { apps.keys.map(key) }

    private static func key(_ key: AppKey) -> CheckFinding {
        let subject = "\(key.keyID) of team \(key.teamID)"
        guard key.tokens.credentials.canSign else {
            return .fault(.keyUnusable, .key, subject, "signatures don't verify")
        }
        return .ok(.key, subject, "P-256, signs and verifies")
    }

    /// The problems with a key file.
    private static func file(_ path: String, keyID: String?) -> [CheckFinding] {
        let text: KeyText
        switch SettingFile.read(path) {
        case .success(let bytes): text = KeyText(bytes)
        case .failure(let fault):
            return [.fault(.keyUnreadable, .key, path, "it can't be read: \(fault.reason)")]
        }
        var findings: [CheckFinding] = []
        do throws(SigningKeyError) {
            _ = try SigningKey(text)
        } catch {
            findings.append(.fault(.keyUnusable, .key, path, "it \(error.description)"))
        }
        if let mode = FileMode(path), mode.isExposed(at: path) {
            findings.append(.fault(.keyExposed, .key, path, "mode \(mode.text): \(mode.whoElse)"))
        }
        if let keyID, let named = keyIDInName(of: path), named != keyID {
            findings.append(
                .fault(
                    .keyNameDiffers, .key, path,
                    "the file is named after key \(named), APNS_KEY_ID is \(keyID)"))
        }
        return findings
    }

    /// The key ID in a file name as Apple generates it: `AuthKey_KEY1234567.p8`.
    static func keyIDInName(of path: String) -> String? {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
        let identifier = String(name.dropFirst("AuthKey_".count).dropLast(".p8".count))
        return ProviderCredentials.isIdentifier(identifier) ? identifier : nil
    }
}

/// A file's permissions.
struct FileMode: Equatable {
    /// The permission bits.
    let bits: UInt32

    init(bits: UInt32) {
        self.bits = bits
    }

    /// The permissions of the file at a path; `nil` if there is none.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        bits = status.st_mode & 0o7777
    }

    /// The permissions as four octal digits.
    var text: String {
        let digits = String(bits, radix: 8)
        return String(repeating: "0", count: max(4 - digits.count, 0)) + digits
    }

    /// Whether users other than the owner and group can read the file, or users other than the owner can change it.
    ///
    /// Other users can't reach a secret mounted into a container, or the files in a closed directory.
    func isExposed(at path: String) -> Bool {
        if bits & 0o022 != 0 { return true }
        guard bits & 0o004 != 0, !path.hasPrefix("/run/secrets/") else { return false }
        return Self.foldersAreOpen(above: path)
    }

    /// What other users can do with the file.
    var whoElse: String {
        bits & 0o022 != 0 ? "users other than its owner can change it" : "every user can read it"
    }

    private static func foldersAreOpen(above path: String) -> Bool {
        guard let resolved = realpath(path, nil) else { return true }
        defer { free(resolved) }
        var folder = String(cString: resolved)
        while let slash = folder.lastIndex(of: "/"), slash > folder.startIndex {
            folder = String(folder[..<slash])
            if let mode = FileMode(folder), mode.bits & 0o001 == 0 { return false }
        }
        return true
    }
}
