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
            "UPDATE_DOCS=1 swift test --filter DocumentTests writes it anew")
    }

    @Test("It names every command that shows something to people")
    func commands() {
        let text = Documents.read("reference/commands.md")
        for user in [Command].inspecting { #expect(text.contains("## relay \(user.rawValue)\n")) }
    }
}

/// What stands in docs/reference/commands.md: commands' own output for a day that was made up.
private enum CommandExamples {
    static var all: [(name: String, command: String, output: String)] {
        [
            ("devices", "devices", DevicesCommand.text(list, of: key, .plain)),
            ("deliveries", "deliveries --limit 3", view.text(log, of: key, .plain)),
            ("follow", "deliveries --follow --json --limit 1", view.jsonLines([log[0]])),
            ("stats", "stats --days 3", report.text(.plain)),
            (
                "revoke", "revoke",
                RevokeCommand.question(holdings, of: key) + "yes\n"
                    + RevokeCommand.removed(holdings, of: key)
            ),
            ("stats json", "stats --days 1 --json", today.json),
            ("tenants", "tenants --limit 2", tenants.text(.plain)),
            ("queue", "queue --limit 1", queue.text(.plain)),
            ("schedules", "schedules", schedules.text(.plain)),
            (
                "block", "block a96d1a757b39 --note \"floods, ticket 4711\"",
                BlockCommand.text(BlockAnswer(outcome: .blocked), of: key.primary)
            ),
            (
                "unblock", "unblock a96d1a757b39",
                BlockCommand.text(BlockAnswer(outcome: .unblocked), of: key.primary)
            ),
        ]
    }

    private static let key = SecretHasher().key(of: Secret("Kx3s0Q9-secret-of-yours"))
    private static let holdings = Holdings(devices: 2, pushes: 1, receipts: 14)
    private static let list = DeviceList(devices: devices, last: last)
    private static let view = DeliveryView(devices: devices)
    private static let log =
        last + [
            delivery("3", .failed, "Unregistered", now - 9_000_000, event: "permission", session: "ses_9")
        ]

    private static let report = StatsReport(
        key: nil,
        days: [
            day(-2, 1_893, 3_120, ["TooManyRequests": 12, "Unregistered": 4]),
            day(-1, 2_204, 3_871, ["Unregistered": 3, "BadDeviceToken": 2, "Expired": 1, "Timeout": 1]),
            day(0, 1_240, 2_069, [:]),
        ], now: Census(secrets: 391, devices: 702, waiting: 5))
    private static let today = StatsReport(
        key: nil, days: [day(0, 1_240, 2_069, ["Expired": 1])], now: report.now)

    private static func day(
        _ offset: Int64, _ events: Int, _ sent: Int, _ failed: [String: Int]
    ) -> StatsReport.Day {
        var day = StatsReport.Day(number: now / StatsReport.dayMilliseconds + offset)
        day.add(DeliveryTally(events: events, sent: sent, failed: failed, end: day.end))
        return day
    }

    private static let tenants: TenantReport = {
        var first = Tenant(secretHash: key.primary)
        (first.devices, first.waiting, first.deliveredAt) = (12, 340, now - 25_000)
        var second = Tenant(secretHash: SecretHasher().key(of: Secret("Another-secret-of-yours")).primary)
        (second.devices, second.deviceUpdatedAt) = (3, now - 5_000_000_000)
        return TenantReport(
            tenants: [first, second], blocked: [second.secretHash], total: 391, sort: .devices, limit: 2,
            next: TenantSort.devices.cursor(of: second))
    }()

    private static let queue: QueueReport = {
        let push = WaitingPush(
            secretHash: key.primary, id: "01a1fe7c-8f1b-7c11-9d53-3a2f1c6b7d10", deviceID: "1",
            eventType: "complete", attempts: 3, dueAt: now + 95_000, isLeased: false,
            createdAt: now - 260_000,
            expiresAt: now + 86_000_000)
        var report = QueueReport(pushes: [push], isComplete: false, now: now)
        (report.waiting, report.firstDue, report.limit) = (341, push.dueAt, 1)
        return report
    }()

    private static let schedules: ScheduleReport = {
        var generator = IDGenerator(seed: 1)
        func schedule(_ name: String?, _ rule: Recurrence?, in time: EpochMilliseconds) -> Schedule {
            Schedule(
                id: UUIDv7(at: now, using: &generator), secretHash: key.primary, kind: .schedule, name: name,
                rule: rule?.json,
                content: "", nextAt: now + time, lateBy: 0, createdAt: now)
        }
        let rule = Recurrence(
            unit: .week, interval: 1, times: [560], weekdays: [.monday, .friday],
            zone: .named("Europe/Berlin"),
            until: nil, start: now)
        var weekly = schedule("standup", rule, in: 71_342_877)
        (weekly.lastAt, weekly.lastOutcome, weekly.skipped) = (now - 80_000_000, "sent", 1)
        return ScheduleReport(
            schedules: [schedule(nil, nil, in: 3_600_000), weekly])
    }()

    private static let now: EpochMilliseconds = 1_795_265_257_123

    private static let devices = [
        device("1", "a1b2c3d4e5f6a7b8c9d0e1f2", .production, "Ada's phone", "iPhone18,1"),
        device("2", "00ff00ff00ff00ff0badcafe", .sandbox, "Ada's iPad", "iPad16,3"),
    ]

    private static let last = [
        delivery("1", .sent, nil, now - 25_000), delivery("2", .failed, "TooManyRequests", now - 3_600_000),
    ]

    private static func device(
        _ id: String, _ token: String, _ environment: DeviceEnvironment, _ name: String, _ model: String
    ) -> Device {
        Device(
            id: id, secretHash: key.primary, token: token, bundleID: "com.example.app",
            environment: environment, createdAt: now - 5_000_000_000, updatedAt: now - 86_000_000,
            details: DeviceDetails(deviceName: name, deviceModel: model))
    }

    private static func delivery(
        _ device: String, _ status: DeliveryStatus, _ error: String?, _ time: EpochMilliseconds,
        event: String = "complete", session: String = "ses_1"
    ) -> Delivery {
        Delivery(
            id: "01a1fe7c-\(device)", secretHash: key.primary, eventType: event, sessionID: session,
            status: status, error: error, createdAt: time, deviceID: device)
    }
}
