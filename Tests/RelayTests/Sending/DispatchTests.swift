import APNs
import JSON
import Storage
import Testing

@testable import Relay

@Suite("Dispatches", .timeLimit(.minutes(2)))
struct DispatchTests {
    @Test("What is stored counts once, is new once, and is tried again")
    func origins() {
        let origins: [(origin: Origin, isCounted: Bool, isNew: Bool, isTriedAgain: Bool, event: String?)] = [
            (.request(eventID: nil), false, true, false, nil),
            (.request(eventID: "e"), false, true, false, "e"),
            (.asynchronous(receiptID: "r"), false, true, true, "r"),
            (.schedule(receiptID: "r"), true, true, true, "r"),
            (.repetition(of: "e", receiptID: "r"), true, false, true, "e"),
            (.quietHours(of: "e", receiptID: "r"), false, false, true, "e"),
            (.quietHours(of: nil, receiptID: "r"), false, false, true, "r"),
            (.acknowledgement(receiptID: "r"), false, false, false, nil),
        ]
        for (origin, isCounted, isNew, isTriedAgain, event) in origins {
            #expect(origin.isCounted == isCounted, "\(origin)")
            #expect(origin.isNew == isNew, "\(origin)")
            #expect(origin.isTriedAgain == isTriedAgain, "\(origin)")
            #expect(origin.event == event, "\(origin)")
        }
    }

    private static func device(
        _ token: String, zone: String? = nil, updatedAt: EpochMilliseconds = 0
    ) -> Device {
        let preferences = DevicePreferences(timeZone: zone)
        let stored = zone.map { _ in String(decoding: preferences.json, as: UTF8.self) }
        return Device(
            id: "id-\(token)", secretHash: RelayFixture.key.primary, token: token, bundleID: "b",
            environment: .production, createdAt: 0, updatedAt: updatedAt,
            details: DeviceDetails(preferences: stored))
    }

    @Test("An audience is all devices, one by its token or registration, or those of time zones or an event")
    func audiences() throws {
        let devices = [
            Self.device("AA00"), Self.device("bb00", zone: "UTC", updatedAt: 1),
            Self.device("cc00", zone: "Europe/Berlin", updatedAt: 2),
        ]
        func tokens(_ audience: Audience) -> [String] {
            audience.recipients(among: devices, zone: TimeZones().zone).devices.map(\.token)
        }
        let first = try #require(DeviceToken("aa00"))
        #expect(tokens(.all) == ["AA00", "bb00", "cc00"])
        #expect(tokens(.token(first)) == ["AA00"])
        #expect(tokens(.registration(id: "id-bb00")) == ["bb00"])
        #expect(tokens(.zones(["UTC"], only: nil)) == ["bb00"])
        // A device without a zone uses that of the device that registered last.
        #expect(tokens(.zones(["Europe/Berlin"], only: nil)) == ["AA00", "cc00"])
        #expect(tokens(.zones(["Europe/Berlin"], only: first)) == ["AA00"])
        #expect(tokens(.reached([devices[1].maskedToken])) == ["bb00"])
    }

    @Test("A stored content has the digest of its request")
    func digests() throws {
        let events: [JSON.Value] = [
            ["eventType": "error", "sessionID": "s"],
            ["eventType": "error", "sessionID": "s", "mutableContent": false],
            [
                "eventType": "permission", "sessionID": "s", "serverID": "v", "title": "T", "body": "B",
                "category": "c", "actions": ["yes", "no"], "contentState": ["a": 1], "attributes": [:],
            ],
            ["eventType": "error", "sessionID": "s", "sealed": "AQAA"],
        ]
        for event in events {
            let content = try EventContent(RequestFields(try #require(event.object)))
            let again = try EventContent(RequestFields(try #require(content.stored).body))
            #expect(content.digest(to: nil, repetition: nil) == again.digest(to: nil, repetition: nil))
        }
        for notification: JSON.Value in [
            ["title": "T"], ["title": "T", "shorten": false, "notification": ["sound": "s"]],
            ["notification": ["title": "T", "data": ["x": [1]]], "sealed": "AQAA"],
        ] {
            let content = try NotificationContent(body: RequestFields(try #require(notification.object)))
            let again = try NotificationContent(body: RequestFields(try #require(content.stored).body))
            #expect(content.digest(to: nil, repetition: nil) == again.digest(to: nil, repetition: nil))
            #expect(content.stored == again.stored)
        }
    }
}
