import Programs
import Storage
import Testing

@testable import Relay

@Suite("docs/reference/commands.md", .timeLimit(.minutes(2)))
struct CommandDocumentTests {
    @Test("It shows what the commands print")
    func examples() throws {
        var text = Documents.read("reference/commands.md")
        for (name, command, output) in CommandExamples.all {
            let lines = "$ relay \(command)\n\(output)".split(
                separator: "\n", omittingEmptySubsequences: false)
            let indented = lines.map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
            text = try #require(
                Documents.replacing(name, in: text, with: "\n\(indented)\n"), "no place for \(name)")
        }
        if Documents.isUpdating { Documents.write("reference/commands.md", text) }
        #expect(
            Documents.read("reference/commands.md") == text,
            "UPDATE_DOCS=1 swift test --filter DocumentTests regenerates it")
    }

    @Test("It names every command that shows something to people")
    func commands() {
        let text = Documents.read("reference/commands.md")
        for command in RelayCommand.all where command.syntax.settings.contains(Settings.databaseTimeout.row) {
            guard command.syntax.name != "serve" else { continue }
            #expect(text.contains("## relay \(command.syntax.name)\n"))
        }
    }
}

/// The examples in docs/reference/commands.md: commands' own output for an invented day.
private enum CommandExamples {
    static var all: [(name: String, command: String, output: String)] {
        [
            ("devices", "devices", DevicesCommand.text(list, of: key, .plain)),
            ("deliveries", "deliveries --limit 2", view.text(last, of: key, .plain)),
            ("follow", "deliveries --follow --json --limit 1", view.jsonLines([last[0]])),
            ("stats", "stats --days 1", today.text(.plain)),
            ("tenants", "tenants", tenants.text(.plain)),
            ("queue", "queue", queue.text(.plain)),
            ("schedules", "schedules", schedules.text(.plain)),
            ("tokens", "tokens", TokensCommand.text(tokens, of: key, .plain)),
            (
                "revoke", "revoke",
                RevokeCommand.question(holdings, of: key) + "yes\n"
                    + RevokeCommand.removed(holdings, of: key)
            ),
        ]
    }

    private static let key = SecretHasher().key(of: Secret("Kx3s0Q9-secret-of-yours"))
    private static let holdings = Holdings(devices: 2, pushes: 1, receipts: 14)
    private static let list = DeviceList(devices: [device], last: last)
    private static let view = DeliveryView(devices: [device])
    private static let last = [
        delivery("1", .sent, nil, now - 25_000), delivery("2", .failed, "Unregistered", now - 3_600_000),
    ]

    private static let today: StatsReport = {
        var day = StatsReport.Day(number: now / StatsReport.dayMilliseconds)
        day.add(DeliveryTally(events: 1_240, sent: 2_069, failed: ["Expired": 1], end: day.end))
        return StatsReport(key: nil, days: [day], now: Census(secrets: 391, devices: 702, waiting: 5))
    }()

    private static let tenants: TenantReport = {
        var tenant = Tenant(secretHash: key.primary)
        (tenant.devices, tenant.waiting, tenant.deliveredAt) = (12, 1, now - 25_000)
        return TenantReport(
            tenants: [tenant], blocked: [], total: 1, sort: .devices, limit: 1, next: nil)
    }()

    private static let queue: QueueReport = {
        let push = WaitingPush(
            secretHash: key.primary, id: "01a1fe7c-8f1b-7c11-9d53-3a2f1c6b7d10", deviceID: "1",
            eventType: "complete", attempts: 3, dueAt: now + 95_000, isLeased: false,
            createdAt: now - 260_000,
            expiresAt: now + 86_000_000)
        var report = QueueReport(pushes: [push], isComplete: true, now: now)
        (report.waiting, report.firstDue, report.limit) = (1, push.dueAt, 1)
        return report
    }()

    private static let schedules: ScheduleReport = {
        var generator = IDGenerator(seed: 1)
        let rule = Recurrence(
            unit: .week, interval: 1, times: [560], weekdays: [.monday, .friday],
            zone: .named("Europe/Berlin"),
            until: nil, start: now)
        var weekly = Schedule(
            id: UUIDv7(at: now, using: &generator), secretHash: key.primary, kind: .schedule, name: "standup",
            rule: rule.json, content: "", nextAt: now + 71_342_877, lateBy: 0, createdAt: now)
        (weekly.lastAt, weekly.lastOutcome, weekly.skipped) = (now - 80_000_000, "sent", 1)
        return ScheduleReport(schedules: [weekly])
    }()

    private static let tokens: [AccessToken] = {
        var generator = IDGenerator(seed: 2)
        return [
            AccessToken(
                id: UUIDv7(at: now, using: &generator), digest: Digest256(of: [1]), secretHash: key.primary,
                scope: .send, name: "CI", createdAt: now - 500_000_000, usedAt: now - 25_000)
        ]
    }()

    private static let now: EpochMilliseconds = 1_795_265_257_123

    private static let device = Device(
        id: "1", secretHash: key.primary, token: "a1b2c3d4e5f6a7b8c9d0e1f2", bundleID: "com.example.app",
        environment: .production, createdAt: now - 5_000_000_000, updatedAt: now - 86_000_000,
        details: DeviceDetails(deviceName: "Ada's phone", deviceModel: "iPhone18,1"))

    private static func delivery(
        _ device: String, _ status: DeliveryStatus, _ error: String?, _ time: EpochMilliseconds
    ) -> Delivery {
        Delivery(
            id: "01a1fe7c-\(device)", secretHash: key.primary, eventType: "complete", sessionID: "ses_1",
            status: status, error: error, createdAt: time, deviceID: device)
    }
}
