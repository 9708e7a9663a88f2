import JSON
import Programs
import Storage

/// `relay tenants`: lists the secrets in a database, with each one's devices, queued pushes and last use.
enum TenantsCommand {
    /// Reads all tenants in steps and prints a page of them.
    static func run(
        _ configuration: InspectionConfiguration, _ options: CommandOptions, _ style: OutputStyle
    ) -> ExitStatus {
        let sort = options.text(.sort).flatMap(TenantSort.init) ?? .devices
        let after = options.text(.after)
        let cursor = after.flatMap { TenantCursor($0) }
        guard after == nil || cursor != nil else {
            StandardError.message(
                "--after is not a cursor printed by relay tenants. " + RelayCommand.table.hint("tenants"))
            return .usage
        }
        let limit = options.number(.limit) ?? Bounds.rowsShownDefault
        return Inspection.run(configuration) { storage throws(StorageError) in
            var ranking = TenantRanking(by: sort, after: cursor, limit: limit)
            try await storage.forEachTenant { ranking.add($0) }
            let blocked = try await storage.blockedSecrets(limit: StorageLimits.blockedSecretsMax)
            let page = ranking.page
            let report = TenantReport(
                tenants: page.tenants, blocked: Set(blocked.map(\.secretHash)), total: ranking.total,
                sort: sort, limit: limit, next: page.next)
            StandardOutput.write(options.has(.json) ? report.json : report.text(style))
            return .success
        }
    }
}

extension Storage {
    /// Reads every tenant in steps, one hash range after another.
    func forEachTenant(_ body: (Tenant) -> Void) async throws(StorageError) {
        for share in Census.shares {
            let bounds = Census.bounds(ofShare: share)
            var start: String? = bounds.from
            while let from = start {
                let page = try await tenants(
                    after: from, before: bounds.before, limit: Bounds.tenantsPerStep)
                page.tenants.forEach(body)
                start = page.next
            }
        }
    }
}

/// A printable page of tenants.
struct TenantReport: Sendable {
    let tenants: [Tenant]
    let blocked: Set<SecretHash>
    /// The number of tenants in the whole database.
    let total: Int
    let sort: TenantSort
    let limit: Int
    /// The cursor for the next page.
    let next: TenantCursor?

    /// A table as text.
    func text(_ style: OutputStyle) -> String {
        var table = TextTable([
            .init(heading: "SECRET"), .init(heading: "DEVICES", isNumber: true),
            .init(heading: "WAITING", isNumber: true), .init(heading: "LAST USED"),
            .init(heading: "BLOCKED"),
        ])
        for tenant in tenants {
            table.add([
                .init(tenant.secretHash.description), .init(CopyProgress.grouped(tenant.devices)),
                .init(CopyProgress.grouped(tenant.waiting), tenant.waiting > 0 ? .warning : nil),
                .init(tenant.lastUsed.map { Timestamp($0).toTheSecond } ?? ""),
                blocked.contains(tenant.secretHash) ? .init("yes", .bad) : "",
            ])
        }
        let head = "\(CopyProgress.grouped(total)) secret\(total == 1 ? "" : "s"), sorted by \(sort.rawValue)"
        guard !tenants.isEmpty else { return head + (total == 0 ? "\n" : "; none after --after\n") }
        let more = next.map { "More: relay tenants --sort \(sort.rawValue) --limit \(limit) --after \($0)\n" }
        return head + "; times in UTC\n" + table.text(style) + (more ?? "")
    }

    /// One JSON object on a line.
    var json: String {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("secrets", total)
        writer.name("tenants")
        writer.beginArray()
        for tenant in tenants {
            writer.beginObject()
            writer.member("secretHash", tenant.secretHash.hex)
            writer.member("devices", tenant.devices)
            writer.member("waiting", tenant.waiting)
            if let time = tenant.deviceUpdatedAt { writer.member("lastRegistration", Timestamp(time).text) }
            if let time = tenant.deliveredAt { writer.member("lastDelivery", Timestamp(time).text) }
            writer.member("blocked", blocked.contains(tenant.secretHash))
            writer.endObject()
        }
        writer.endArray()
        if let next { writer.member("next", next.description) }
        writer.endObject()
        return String(decoding: writer.finish(), as: UTF8.self) + "\n"
    }
}

extension RelayCommand {
    static let tenants = RelayCommand(
        "tenants", "List the secrets in the database: devices, queued pushes, last use.",
        about: """
            Lists the secrets that have devices or queued pushes, by hash prefix, with the number of each and
            the time of last use: the last registration or completed push. It reads all of them through an
            index, a thousand at a time, and works alongside a running relay. With --json hashes are complete.
            """,
        options: [.sort, .limit, .after, .json],
        settings: .inspection
    ) { call throws(ConfigurationError) in
        TenantsCommand.run(try call.inspection(), call.options, call.style)
    }
}

extension CommandOption {
    static let sort = CommandOption(
        "--sort", .word(TenantSort.allCases.map(\.rawValue)),
        "Sort key, highest first. Default: \(TenantSort.devices.rawValue).")
}
