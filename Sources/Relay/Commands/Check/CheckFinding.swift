/// What a check came to; the raw value is what is printed.
enum CheckStatus: String, Sendable, CaseIterable {
    /// Nothing is wrong.
    case ok
    /// Pushes may arrive all the same, but somebody should look at it.
    case warning
    /// This keeps pushes from arriving.
    case failed
    /// It could not be found out, because of something else, or isn't asked for.
    case skipped
}

/// The parts of `relay check`, in the order in which they are told; the raw value is what is printed.
enum CheckPart: String, Sendable, CaseIterable {
    /// The settings, as `relay serve` reads them.
    case configuration
    /// The signing keys.
    case key
    /// This machine's clock.
    case clock
    /// The way to APNs' servers: name, TCP, TLS, HTTP/2.
    case apns
    /// Whether APNs takes the provider tokens and the bundle identifiers.
    case push
    /// The database.
    case database
    /// The room for a database that is a file.
    case disk
    /// The relay's own TLS certificate.
    case certificate
    /// How many files may be open.
    case files
    /// A relay that runs on this machine.
    case relay
    /// A secret's devices.
    case device
    /// A test push to a secret's devices.
    case send
    /// The check itself.
    case check

    /// How wide the longest of them is.
    static let width = allCases.map(\.rawValue.count).max() ?? 0
}

/// One line of `relay check`: what was looked at, and what was found.
struct CheckFinding: Sendable, Equatable {
    let part: CheckPart
    /// What it is about where a part has several: an environment, a file, a device; empty otherwise.
    let subject: String
    let status: CheckStatus
    /// What is wrong, as a name that stays; `nil` where nothing is.
    let fault: CheckFault?
    /// What was found: one line, without secrets, whole tokens, keys and passwords.
    let text: String
    /// What to do about it.
    let advice: String?

    /// Something that is as it should be.
    static func ok(_ part: CheckPart, _ subject: String = "", _ text: String) -> CheckFinding {
        CheckFinding(part: part, subject: subject, status: .ok, fault: nil, text: text, advice: nil)
    }

    /// Something that was not looked at, and why.
    static func skipped(_ part: CheckPart, _ subject: String = "", _ text: String) -> CheckFinding {
        CheckFinding(part: part, subject: subject, status: .skipped, fault: nil, text: text, advice: nil)
    }

    /// Something that is wrong.
    ///
    /// - Parameters:
    ///   - status: How bad it is, where that isn't the fault's own.
    ///   - advice: What to do, where there is more to say than the fault's own advice.
    static func fault(
        _ fault: CheckFault, _ part: CheckPart, _ subject: String = "", _ text: String,
        status: CheckStatus? = nil, advice: String? = nil
    ) -> CheckFinding {
        CheckFinding(
            part: part, subject: subject, status: status ?? fault.status, fault: fault, text: text,
            advice: advice ?? fault.advice)
    }
}

/// Everything that a check found.
struct CheckReport: Sendable, Equatable {
    /// The findings in the order in which they are told.
    var findings: [CheckFinding] = []

    /// How many findings have a status.
    func count(_ status: CheckStatus) -> Int { findings.count { $0.status == status } }

    /// Whether nothing keeps pushes from arriving.
    var isGood: Bool { count(.failed) == 0 }
}
