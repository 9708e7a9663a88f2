/// The result of a check; the raw value is printed.
enum CheckStatus: String, Sendable, CaseIterable {
    /// Nothing is wrong.
    case ok
    /// Pushes may still arrive, but something needs attention.
    case warning
    /// This keeps pushes from arriving.
    case failed
    /// The check was skipped, because another one failed or it wasn't requested.
    case skipped
}

/// The parts of `relay check`, in output order; the raw value is printed.
enum CheckPart: String, Sendable, CaseIterable {
    /// The settings, as `relay serve` reads them.
    case configuration
    /// The signing keys.
    case key
    /// This machine's clock.
    case clock
    /// The connection to APNs: name, TCP, TLS, HTTP/2.
    case apns
    /// Whether APNs accepts the provider tokens and bundle IDs.
    case push
    case webPush = "webpush"
    case database
    /// Free disk space for a file database.
    case disk
    /// The relay's own TLS certificate.
    case certificate
    /// The limit on open files.
    case files
    /// The addresses that the relay listens on.
    case listen
    /// The running relay on this machine.
    case relay
    /// A secret's devices.
    case device
    /// A test push to a secret's devices.
    case send
    /// The check itself.
    case check

    /// The length of the longest name.
    static let width = allCases.map(\.rawValue.count).max() ?? 0
}

/// One line of `relay check`: what was checked, and the result.
struct CheckFinding: Sendable, Equatable {
    let part: CheckPart
    /// The environment, file or device, if a part has several; otherwise empty.
    let subject: String
    let status: CheckStatus
    /// The fault's stable name; `nil` if there is none.
    let fault: CheckFault?
    /// The result in one line, without secrets, full tokens, keys or passwords.
    let text: String
    /// How to fix it.
    let advice: String?

    /// A check that passed.
    static func ok(_ part: CheckPart, _ subject: String = "", _ text: String) -> CheckFinding {
        CheckFinding(part: part, subject: subject, status: .ok, fault: nil, text: text, advice: nil)
    }

    /// A check that was skipped, and why.
    static func skipped(_ part: CheckPart, _ subject: String = "", _ text: String) -> CheckFinding {
        CheckFinding(part: part, subject: subject, status: .skipped, fault: nil, text: text, advice: nil)
    }

    /// A check that found a fault.
    ///
    /// - Parameters:
    ///   - status: The severity, if it differs from the fault's.
    ///   - advice: How to fix it, if it differs from the fault's advice.
    static func fault(
        _ fault: CheckFault, _ part: CheckPart, _ subject: String = "", _ text: String,
        status: CheckStatus? = nil, advice: String? = nil
    ) -> CheckFinding {
        CheckFinding(
            part: part, subject: subject, status: status ?? fault.status, fault: fault, text: text,
            advice: advice ?? fault.advice)
    }
}

/// All findings of a check.
struct CheckReport: Sendable, Equatable {
    /// The findings in output order.
    var findings: [CheckFinding] = []

    /// The number of findings with this status.
    func count(_ status: CheckStatus) -> Int { findings.count { $0.status == status } }

    /// Whether nothing keeps pushes from arriving.
    var isGood: Bool { count(.failed) == 0 }
}
