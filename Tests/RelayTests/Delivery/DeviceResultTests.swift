import Storage
import Testing

@testable import Relay

@Suite("The response to an event", .timeLimit(.minutes(2)))
struct DeviceResultTests {
    @Test("The largest response can be stored for its eventID")
    func largest() throws {
        let id = String(repeating: "0", count: 36)
        let reason = String(repeating: "R", count: Bounds.reasonBytesMax)
        let result = DeviceResult(
            deviceID: id, maskedToken: "…00000000", status: .failed(reason: reason), removed: true)
        let answer = EventAnswer(results: Array(repeating: result, count: 10_000))
        #expect(answer.body.count <= StorageLimits.answerBytes)
        #expect(answer.failed == 10_000)
        let waiting = DeviceResult(
            deviceID: id, maskedToken: "…00000000", pushID: id, status: .queued(reason: reason))
        let queued = EventAnswer(results: Array(repeating: waiting, count: 10_000))
        #expect(queued.body.count <= StorageLimits.answerBytes)
        #expect(queued.queued == 10_000 && queued.failed == 0)
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
