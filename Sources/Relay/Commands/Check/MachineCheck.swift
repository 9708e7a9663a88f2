import Network
import Storage

/// Looks at the relay's own TLS certificate.
enum CertificateCheck {
    /// Whether the chain and its key can be served, and for how long.
    static func findings(_ tls: TLSConfiguration, clock: WallClock) -> [CheckFinding] {
        do throws(NetworkError) {
            _ = try TLSServerContext(
                certificateFile: tls.certificateFile, keyFile: tls.keyFile, alpn: ["http/1.1"])
            return findings(
                try Certificate.chain(ofFile: tls.certificateFile), file: tls.certificateFile,
                now: clock.now / 1000)
        } catch {
            return [.fault(.certificateUnusable, .certificate, "", error.description)]
        }
    }

    /// What a chain's dates and order mean at a time in seconds since 1970.
    static func findings(_ chain: [Certificate], file: String, now: Int64) -> [CheckFinding] {
        var findings: [CheckFinding] = []
        if chain.contains(where: { $0.isIssuedByNext == false }) {
            findings.append(
                .fault(
                    .certificateChain, .certificate, file, "a certificate in it isn't issued by the next one")
            )
        }
        guard let end = chain.map(\.notAfter).min(), let begin = chain.map(\.notBefore).max() else {
            return findings
        }
        let day = String(Timestamp(end * 1000).text.prefix(10))
        if now >= end {
            findings.append(.fault(.certificateExpired, .certificate, file, "expired on \(day)"))
        } else if now < begin {
            let from = String(Timestamp(begin * 1000).text.prefix(10))
            findings.append(.fault(.certificateExpired, .certificate, file, "not valid before \(from)"))
        } else if end - now < Bounds.checkCertificateDaysNoticed * 86_400 {
            findings.append(
                .fault(
                    .certificateExpiring, .certificate, file,
                    "expires on \(day), in \((end - now) / 86_400) days"))
        } else if findings.isEmpty {
            findings.append(.ok(.certificate, file, "goes with its key, valid until \(day)"))
        }
        return findings
    }
}

/// Compares how many files may be open with how many connections are allowed.
enum FileLimitCheck {
    /// What a limit means for so many connections.
    static func finding(limit: Int, connectionsMax: Int) -> CheckFinding {
        let needed = connectionsMax + Bounds.fileDescriptorsReserved
        let text = "\(limit) may be open here"
        guard limit < needed else { return .ok(.files, "", "\(text), \(needed) are needed at most") }
        return .fault(
            .fileLimit, .files, "",
            "\(text): the relay would take \(max(1, limit - Bounds.fileDescriptorsReserved)) connections, not "
                + "\(connectionsMax)")
    }
}
