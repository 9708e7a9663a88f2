import Network
import Programs
import Storage

/// A condition that must hold before `relay serve` starts, with its test and the consequence of a failure.
///
/// `relay serve` and `relay check` both test ``all`` of them. `relay serve` refuses to start only with a
/// ``StartError``, which names an entry of this list, so `relay check` tests everything that can keep the relay from
/// starting.
struct Precondition: Sendable {
    /// The names, in the order of the tests.
    enum Name: String, CaseIterable, Sendable {
        case settings
        case certificate
        case certificateDates = "certificate_dates"
        case apnsCertificates = "apns_certificates"
        case webPushCertificates = "webpush_certificates"
        case signingKeys = "signing_keys"
        case adminAddress = "admin_address"
        case address
        case openFiles = "open_files"
        case database
        case databaseWrites = "database_writes"
    }

    /// What `relay serve` does if the condition doesn't hold.
    enum Consequence: Sendable, Equatable {
        /// Exits with this status; warnings from the test are still only logged.
        case refusal(ExitStatus)
        /// Starts and logs a warning under this name.
        case warning
    }

    let name: Name
    /// The part of `relay check` that reports it.
    let part: CheckPart
    let consequence: Consequence
    /// The event name of the warning that `relay serve` logs.
    let event: StaticString
    /// Returns the findings: faults with advice, or confirmation that the condition holds; empty if it doesn't apply.
    ///
    /// A failed finding keeps `relay serve` from starting if ``consequence`` is a refusal.
    let test: @Sendable (PreconditionSubject) async -> [CheckFinding]
}

extension Precondition {
    static let all: [Precondition] = Name.allCases.map { Precondition($0) }

    init(_ name: Name) {
        self.name = name
        switch name {
        case .settings:
            (part, consequence, event) = (.configuration, .refusal(.configuration), "start.settings")
            test = { subject in
                subject.problems.map { .fault(.badSetting, .configuration, "", $0) }
            }
        case .certificate:
            (part, consequence, event) = (.certificate, .refusal(.configuration), "start.certificate")
            test = { subject in subject.server?.tls.map { CertificateCheck.files($0) } ?? [] }
        case .certificateDates:
            (part, consequence, event) = (.certificate, .warning, "certificate.dates")
            test = { subject in
                subject.server?.tls.map { CertificateCheck.dates($0, clock: subject.clock) } ?? []
            }
        case .apnsCertificates:
            (part, consequence, event) = (.apns, .refusal(.configuration), "start.apns_certificates")
            test = { subject in
                guard let servers = subject.servers else { return [] }
                do throws(NetworkError) {
                    _ = try TLSClientContext(caFile: servers.caFile, alpn: ["h2"])
                    return []
                } catch {
                    return [APNsCheck.unusableCertificates(servers, error)]
                }
            }
        case .webPushCertificates:
            (part, consequence, event) = (
                .webPush, .refusal(.configuration), "start.webpush_certificates"
            )
            test = { subject in WebPushCheck.certificates(subject.webPush?.caFile) }
        case .signingKeys:
            (part, consequence, event) = (.key, .refusal(.configuration), "start.key")
            test = { subject in subject.apps.map { KeyCheck.signing($0) } ?? [] }
        case .adminAddress:
            (part, consequence, event) = (.listen, .refusal(.unavailable), "admin.off")
            test = { subject in await ListenCheck.admin(subject) }
        case .address:
            (part, consequence, event) = (.listen, .refusal(.unavailable), "start.address")
            test = { subject in ListenCheck.main(subject) }
        case .openFiles:
            (part, consequence, event) = (.files, .warning, "files.limit")
            test = { subject in
                subject.server.map {
                    [
                        FileLimitCheck.finding(
                            limit: FileDescriptors.raiseLimit(), connectionsMax: $0.connectionsMax)
                    ]
                } ?? []
            }
        case .database:
            (part, consequence, event) = (.database, .refusal(.unavailable), "start.database")
            // `relay serve` tests it by opening the database, with the same error messages.
            test = { subject in await subject.database.findings(relayRuns: subject.relayRuns) }
        case .databaseWrites:
            (part, consequence, event) = (.database, .warning, "start.database_writes")
            test = { subject in await subject.database.writeFindings() }
        }
    }

    /// The first of this precondition's findings that keeps `relay serve` from starting.
    func refusal(_ findings: [CheckFinding]) -> StartError? {
        guard case .refusal = consequence else { return nil }
        return findings.first { $0.status == .failed }.map { StartError($0, of: self) }
    }

    /// Tests preconditions for `relay serve`: throws the first refusal and logs warnings.
    static func require(
        _ names: [Name], of subject: PreconditionSubject, log: Log
    ) async throws(StartError) {
        for name in names {
            let precondition = Precondition(name)
            let findings = await precondition.test(subject)
            if let refusal = precondition.refusal(findings) { throw refusal }
            for finding in findings where finding.fault != nil { log.warn(finding, precondition.event) }
        }
    }

    /// The preconditions tested before anything is opened.
    static let beforeOpening = Name.allCases.filter { ![.settings, .database, .databaseWrites].contains($0) }
}

extension Log {
    /// Logs a fault that doesn't keep the relay from starting.
    fileprivate func warn(_ finding: CheckFinding, _ event: StaticString) {
        let text = finding.subject.isEmpty ? finding.text : "\(finding.subject): \(finding.text)"
        self(.warning, event, [.note("error", text), .note("advice", finding.advice ?? "")])
    }
}

/// Why the relay couldn't start: one message for the operator, and the exit status.
struct StartError: Error, Sendable {
    /// The failed precondition; `nil` if the relay was asked to stop during startup.
    let precondition: Precondition.Name?
    let status: ExitStatus
    /// The fault and how to fix it, without secrets.
    let message: String

    /// A failure found by a precondition's test.
    init(_ finding: CheckFinding, of precondition: Precondition) {
        let text = finding.subject.isEmpty ? finding.text : "\(finding.subject): \(finding.text)"
        self.init(precondition.name, finding.advice.map { "\(text)\n\($0)" } ?? text)
    }

    /// A precondition that held when tested but failed later.
    init(_ name: Precondition.Name, _ message: String) {
        precondition = name
        if case .refusal(let status) = Precondition(name).consequence {
            self.status = status
        } else {
            status = .unavailable
        }
        self.message = message
    }

    /// A stop request during startup.
    init(stopped message: String) {
        precondition = nil
        status = .success
        self.message = message
    }
}
