import Network
import Programs
import Storage

/// Checks the relay's own TLS certificate.
enum CertificateCheck {
    /// The problems that keep the chain and its key from being used; empty if there are none.
    static func files(_ tls: TLSConfiguration) -> [CheckFinding] {
        do throws(NetworkError) {
            _ = try TLSServerContext(
                certificateFile: tls.certificateFile, keyFile: tls.keyFile, alpn: ["http/1.1"])
            return []
        } catch {
            return [.fault(.certificateUnusable, .certificate, "", error.description)]
        }
    }

    /// Findings on the chain's validity and order; empty if the chain can't be used.
    static func dates(_ tls: TLSConfiguration, clock: WallClock) -> [CheckFinding] {
        guard files(tls).isEmpty, let chain = try? Certificate.chain(ofFile: tls.certificateFile) else {
            return []
        }
        return findings(chain, file: tls.certificateFile, now: clock.now / 1000)
    }

    /// Findings for a chain's dates and order at a time in seconds since 1970.
    static func findings(_ chain: [Certificate], file: String, now: Int64) -> [CheckFinding] {
        var findings: [CheckFinding] = []
        if chain.contains(where: { $0.isIssuedByNext == false }) {
            findings.append(
                .fault(
                    .certificateChain, .certificate, file, "a certificate isn't issued by the one after it")
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
            findings.append(.ok(.certificate, file, "matches its key, valid until \(day)"))
        }
        return findings
    }
}
