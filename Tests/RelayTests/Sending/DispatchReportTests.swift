import Storage
import Testing

@testable import Relay

@Suite("The response to an event", .timeLimit(.minutes(2)))
struct DispatchReportTests {
    @Test("The largest response can be stored for its eventID")
    func largest() throws {
        let id = String(repeating: "0", count: 36)
        let reason = String(repeating: "R", count: Bounds.reasonBytesMax)
        let result = DeviceResult(
            deviceID: id, maskedToken: "…00000000", status: .failed(reason: reason), removed: true)
        let answer = DispatchReport(Array(repeating: result, count: 10_000))
        #expect(answer.response.count <= StorageLimits.answerBytes)
        #expect(answer.failed == 10_000)
        let waiting = DeviceResult(
            deviceID: id, maskedToken: "…00000000", pushID: id, status: .queued(reason: reason))
        let queued = DispatchReport(Array(repeating: waiting, count: 10_000))
        #expect(queued.response.count <= StorageLimits.answerBytes)
        #expect(queued.queued == 10_000 && queued.failed == 0)
    }

    @Test("A stored response is read as it was written")
    func reread() {
        func result(
            _ token: String, _ status: DeviceResult.Status, removed: Bool = false,
            _ activity: ActivityEvent? = nil
        ) -> DeviceResult {
            DeviceResult(
                deviceID: token, maskedToken: token, pushID: "p", status: status, removed: removed,
                activity: activity)
        }
        let report = DispatchReport(
            [
                result("…1", .sent(apnsID: "p")), result("…2", .queued(reason: "Shutdown")),
                result("…3", .queued(reason: FailureReason.quietHours)),
                result("…4", .failed(reason: "Unregistered"), removed: true), result("…5", .muted),
                result("…6", .sent(apnsID: "p"), .update),
            ], held: 2)
        let stored = DispatchResult(stored: report.response)
        #expect(stored.report.response == report.response)
        #expect(stored.report.sent == 1 && stored.report.queued == 2 && stored.report.failed == 1)
        #expect(stored.report.activities == ActivityCounts(sent: 1, held: 2))
        #expect(stored.report.reached == ["…1", "…2"] && report.reached == stored.report.reached)
        #expect(DispatchReport(response: Array("{}".utf8)) == DispatchReport([]))
    }

    @Test("At most half of a stored invalid token is shown, as printable ASCII")
    func masked() {
        for (token, shown) in [
            ("00112233445566778899", "…66778899"), ("ab", "…ab"), ("xyz", "…z"), ("x", "…"),
            ("not a token \u{202E}\u{0}é\"", "…ken ???\""),
        ] {
            let device = Device(
                id: "x", secretHash: RelayFixture.key.primary, token: token, bundleID: "b",
                environment: .production,
                createdAt: 0, updatedAt: 0)
            #expect(device.maskedToken == shown)
        }
    }
}
