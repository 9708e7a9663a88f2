import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Actions that events offer for replies", .timeLimit(.minutes(2)))
struct ReplyActionTests {
    @Test(
        "An action that the event doesn't offer is refused and leaves room for one that it offers",
        arguments: ["event", "notify", "schedule"])
    func offered(way: String) async throws {
        try await ReplyTests.with { relay in
            let actions: JSON.Value = ["once", "reject"]
            let secret: JSON.Value = .string(RelayFixture.secret)
            let notification: JSON.Value = ["title": "t", "actions": actions]
            var eventID: JSON.Value = "per_1"
            switch way {
            case "event":
                let sent = await relay.event(["eventID": eventID, "actions": actions])
                #expect(sent.json["sent"] == 1)
            case "notify":
                let sent = await relay.post(
                    "/v1/notify", ["secret": secret, "eventID": eventID, "notification": notification])
                #expect(sent.json["sent"] == 1)
            default:
                let created = await relay.post(
                    "/v1/schedule/create",
                    [
                        "secret": secret, "in": 1, "eventType": "permission", "sessionID": "s",
                        "actions": actions,
                    ])
                #expect(created.json["ok"] == true)
                relay.pass(.seconds(2))
                try await relay.withScheduleWorker { _ in
                    #expect(await eventually { relay.schedules.isEmpty })
                }
            }
            let pushed = try #require(await relay.onLoop { $0.production.pushes.last?.notification.payload })
            let payload = try JSON.parse(pushed, maxBytes: 9_999)
            #expect(payload["actions"] == actions)
            if way == "schedule" { eventID = try #require(payload["eventID"]) }
            for reply: JSON.Value in [["action": "always"], ["action": "Once"]] {
                var body = try #require(reply.object)
                body["eventID"] = eventID
                let refused = await ReplyTests.post(relay, "reply", .object(body))
                #expect(refused["code"] == "invalid_field" && refused["field"] == "action")
                #expect(refused["error"]?.string?.contains("once, reject") == true)
            }
            #expect(relay.storage.state.withLock(\.acknowledgements).isEmpty)
            let taken = await ReplyTests.post(relay, "reply", ["eventID": eventID, "action": "reject"])
            #expect(taken["ok"] == true)
        }
    }

    @Test("The actions of a sealed event stay inside it, and its sealed replies aren't compared with them")
    func sealedActions() async throws {
        try await ReplyTests.with { relay in
            let sent = await relay.event(["eventID": "per_1", "sealed": "AQ", "actions": ["once"]])
            #expect(sent.json["sent"] == 1)
            let pushed = try #require(await relay.onLoop { $0.production.pushes.last?.notification.payload })
            #expect(try JSON.parse(pushed, maxBytes: 9_999)["actions"] == nil)
            let other = await ReplyTests.post(relay, "reply", ["eventID": "per_1", "action": "always"])
            #expect(other["code"] == "invalid_field")
            let sealed = await ReplyTests.post(
                relay, "reply", ["eventID": "per_1", "action": "sealed", "sealed": "AQ"])
            #expect(sealed["ok"] == true)
        }
    }

    @Test(
        "Actions are a few different words, and part of the event's content",
        arguments: [[], ["a", "a"], ["a b"], [""], [1], ["a", "b", "c", "d", "e", "f", "g", "h", "i"], "a"]
            as [JSON.Value])
    func wrongActions(actions: JSON.Value) async throws {
        try await ReplyTests.with { relay in
            let event = await relay.event(["actions": actions])
            #expect(event.json["code"] == "invalid_field" && event.json["field"] == "actions")
            let notify = await relay.post(
                "/v1/notify",
                [
                    "secret": .string(RelayFixture.secret),
                    "notification": ["title": "t", "actions": actions],
                ])
            #expect(notify.json["code"] == "invalid_field")
            #expect(notify.json["field"] == "notification.actions")
            let same = await relay.event(["eventID": "evt_1", "actions": ["once"]])
            #expect(same.json["code"] == "event_conflict")
        }
    }
}
