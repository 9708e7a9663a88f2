import APNs
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Devices with a frequency limit", .timeLimit(.minutes(2)))
struct FrequencyTests {
    private func register(_ relay: RelayFixture, _ token: JSON.Value, _ preferences: JSON.Value) async {
        let answer = await relay.post(
            "/v1/device/register",
            ["secret": .string(RelayFixture.secret), "deviceToken": token, "preferences": preferences])
        #expect(answer.json["ok"] == true)
    }

    /// The statuses of an event's pushes, by the last characters of their tokens.
    private func send(_ relay: RelayFixture, _ members: JSON.Value = [:]) async -> [String: String] {
        let answer = await relay.event(members).json
        let deliveries = answer["deliveries"]?.array ?? []
        return Dictionary(
            uniqueKeysWithValues: deliveries.map {
                (String(($0["device"]?.string ?? "").suffix(4)), $0["status"]?.string ?? "")
            })
    }

    @Test("Over its limit a device gets only permissions and background pushes; others get all")
    func perHour() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00", ["perHour": 2, "eventTypes": ["complete", "permission"]])
            await register(relay, "bb00", ["eventTypes": ["complete", "permission"]])
            for expected in ["sent", "sent", "muted", "muted"] {
                #expect(await send(relay) == ["aa00": expected, "bb00": "sent"])
            }
            #expect(await send(relay, ["eventType": "permission"]) == ["aa00": "sent", "bb00": "sent"])
            let background = await relay.post(
                "/v1/notify",
                [
                    "secret": .string(RelayFixture.secret),
                    "notification": ["pushType": "background", "data": ["a": 1]],
                ])
            #expect(background.json["sent"]?.int == 2)
            // The log was read only once.
            #expect(relay.storage.state.withLock(\.sentCounts) == 1)
        }
    }

    @Test("Pushes in flight count, however many events arrive at once")
    func atOnce() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00", ["perHour": 5])
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            let answered = Lock(0)
            let statuses = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<64 {
                    group.addTask {
                        let status = await send(relay)["aa00"] ?? ""
                        answered.withLock { $0 += 1 }
                        return status
                    }
                }
                #expect(await eventually { answered.withLock { $0 } == 59 })
                #expect(await relay.until { $0.production.held.count == 5 })
                await relay.loop.run { _ in relay.production.value.answerHeld(5) { .accepted($0) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count { $0 == "sent" } == 5 && statuses.count { $0 == "muted" } == 59)
            #expect(await send(relay) == ["aa00": "muted"])
        }
    }

    @Test("A failed push doesn't count towards the limit")
    func failed() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00", ["perHour": 1])
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(400, "PayloadEmpty") }
            }
            #expect(await send(relay) == ["aa00": "failed"])
            await relay.loop.run { _ in relay.production.value.script = { .accepted($0) } }
            #expect(await send(relay) == ["aa00": "sent"])
            #expect(await send(relay) == ["aa00": "muted"])
        }
    }

    @Test("Rows logged by a clock that was ahead don't count after it was set back")
    func setBack() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00", ["perHour": 1])
            relay.storage.state.withLock { state in
                state.deliveries = [
                    Delivery(
                        id: "x", secretHash: RelayFixture.key.primary, eventType: "complete", sessionID: "",
                        status: .sent, error: nil, createdAt: RelayFixture.start + 3 * 3_600_000,
                        deviceID: state.devices.first?.id)
                ]
            }
            #expect(await send(relay) == ["aa00": "sent"])
        }
    }

    @Test("The log's rows count, including those of other relays, and perDay covers the last day")
    func perDay() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "aa00", ["perDay": 3, "perHour": 2])
            let id = try #require(relay.storage.state.withLock { $0.devices.first?.id })
            func log(_ hours: [Int64]) {
                relay.storage.state.withLock { state in
                    state.deliveries = hours.enumerated().map { index, hour in
                        Delivery(
                            id: "\(index)", secretHash: RelayFixture.key.primary, eventType: "complete",
                            sessionID: "", status: .sent, error: nil,
                            createdAt: relay.time.withLock { $0 } - hour * 3_600_000 + 1_000, deviceID: id)
                    }
                }
                relay.pass(Bounds.frequencyCountAgeMax)
            }
            log([2, 25, 26])
            #expect(await send(relay) == ["aa00": "sent"])
            log([1, 2, 23])
            #expect(await send(relay) == ["aa00": "muted"])
            log([1, 1])
            #expect(await send(relay) == ["aa00": "sent"])
            log([0, 0])
            #expect(await send(relay) == ["aa00": "muted"])
        }
    }

    @Test("Without such devices the log isn't read, and an unreadable log stops no push")
    func unread() async throws {
        try await RelayFixture.with { relay in
            await register(relay, "bb00", ["eventTypes": ["complete", "permission"]])
            #expect(await send(relay) == ["bb00": "sent"])
            #expect(relay.storage.state.withLock(\.sentCounts) == 0)
            await register(relay, "aa00", ["perDay": 1])
            relay.storage.state.withLock { $0.countFailure = .unavailable(logDetail: "x") }
            for _ in 0..<2 { #expect(await send(relay) == ["aa00": "sent", "bb00": "sent"]) }
        }
    }
}
