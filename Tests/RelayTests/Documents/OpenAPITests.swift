import APNs
import HTTPServer
import JSON
import Network
import OwnThread
import Programs
import Storage
import Testing
import WebPush

@testable import Relay

@Suite("docs/reference/openapi.yaml", .timeLimit(.minutes(2)), .ownThread)
struct OpenAPITests {
    private let document: JSON.Value
    private let schema: JSONSchema

    init() throws {
        document = try SimpleYAML.parse(Documents.read("reference/openapi.yaml"))
        schema = JSONSchema(document: document)
    }

    @Test("It has the routes of the code, no more and no fewer")
    func routes() throws {
        var described: [String] = []
        for path in try #require(document["paths"]?.object).members {
            for method in try #require(path.value.object).members {
                described.append("\(method.name.uppercased()) \(path.name)")
            }
        }
        // The web page, and the doors with their own APIs, aren't part of the API.
        let undescribed = [.page, .none] + RouteName.doors
        #expect(
            Set(described)
                == Set(RouteName.allCases.filter { !undescribed.contains($0) }.map(\.rawValue)))
        #expect(document["info"]?["version"] == .string(Version.current))
    }

    @Test("Its codes are those of the table, and its fields those of the requests")
    func names() throws {
        let schemas = try #require(document["components"]?["schemas"])
        #expect(schemas["ErrorCode"]?["enum"]?.array == ErrorCode.allCases.map { .string($0.rawValue) })
        #expect(
            schemas["Refusal"]?["properties"]?["field"]?["enum"]?.array
                == RequestField.allCases.map { .string($0.rawValue) })
        func properties(_ name: String) -> [String]? {
            schemas[name]?["properties"]?.object?.members.map(\.name)
        }
        #expect(
            properties("RegisterRequest") == [
                "secret", "deviceToken", "webPush", "bundleId", "apnsEnv", "deviceName", "deviceModel",
                "osVersion", "appVersion", "challengeCode", "preferences", "deviceID", "sealed",
                "pushToStartToken", "attributesType", "widgetPushToken", "controlPushToken",
            ])
        #expect(
            properties("ActivityRegisterRequest") == [
                "secret", "sessionID", "activityToken", "deviceToken", "bundleId", "apnsEnv",
            ])
        #expect(properties("ActivityUnregisterRequest") == ["secret", "sessionID", "activityToken"])
        #expect(properties("ListRequest") == ["secret"])
        #expect(properties("PresenceRequest") == ["secret", "seconds", "deviceID"])
        #expect(
            properties("NotifyRequest")
                == [
                    "secret", "deviceToken", "notification", "title", "subtitle", "body", "eventID", "sealed",
                    "async", "repeat", "shorten",
                ])
        #expect(properties("HistoryListRequest") == ["secret", "before", "limit"])
        #expect(properties("HistoryReadRequest") == ["secret", "ids", "all"])
        #expect(properties("AcknowledgeRequest") == ["secret", "eventID", "clear"])
        #expect(properties("ReplyRequest") == ["secret", "eventID", "action", "text", "sealed", "timeout"])
        #expect(properties("ReplyWaitRequest") == ["secret", "eventID", "timeout"])
        #expect(
            properties("ReplyResultRequest") == ["secret", "eventID", "outcome", "reason", "sealed"])
        #expect(
            properties("ScheduleRequest")
                == [
                    "secret", "at", "in", "every", "name", "lateBy", "window", "deviceToken", "notification",
                    "eventType", "sessionID", "serverID", "title", "body", "category", "mutableContent",
                    "actions", "sealed", "shorten",
                ])
        #expect(properties("ScheduleCancelRequest") == ["secret", "id", "name"])
        #expect(properties("TokenRequest") == ["secret", "scope", "name", "expiresAt"])
        #expect(properties("TokenRevokeRequest") == ["secret", "tokenID"])
        #expect(properties("UnregisterRequest") == ["secret", "deviceToken", "webPush"])
        #expect(
            properties("EventRequest")
                == [
                    "secret", "eventType", "sessionID", "serverID", "title", "body", "eventID", "category",
                    "mutableContent", "actions", "sealed", "async", "repeat", "contentState",
                    "attributes",
                ])
        #expect(properties("EventsRequest") == ["secret", "events"])
        let requests = [
            ("EventsRequest", ""), ("RegisterRequest", ""), ("UnregisterRequest", ""), ("EventRequest", ""),
            ("NotifyRequest", ""),
            ("ActivityRegisterRequest", ""), ("ActivityUnregisterRequest", ""),
            ("ListRequest", ""), ("PresenceRequest", ""), ("HistoryListRequest", ""),
            ("HistoryReadRequest", ""),
            ("AcknowledgeRequest", ""), ("ReplyRequest", ""), ("ReplyWaitRequest", ""),
            ("OutcomesRequest", ""),
            ("ReplyResultRequest", ""),
            ("WebPush", "webPush."), ("WebPushKeys", "webPush.keys."), ("Notification", "notification."),
            ("Repeat", "repeat."), ("Preferences", "preferences."),
            ("QuietHours", "preferences.quietHours."), ("ScheduleRequest", ""),
            ("ScheduleCancelRequest", ""), ("Recurrence", "every."), ("TokenRequest", ""),
            ("TokenRevokeRequest", ""),
        ]
        let all = requests.flatMap { name, prefix in (properties(name) ?? []).map { prefix + $0 } }
        #expect(Set(all) == Set(RequestField.allCases.map(\.rawValue)))
    }

    @Test("Its bounds are those of the code")
    func bounds() throws {
        let schemas = try #require(document["components"]?["schemas"])
        #expect(
            schemas["ReplyAction"]?["pattern"] == .string("^[!-~]{1,\(Bounds.replyActionCountMax)}$"))
        #expect(schemas["Actions"]?["maxItems"]?.int == Bounds.replyActionsMax)
        #expect(schemas["ReplyText"]?["maxLength"]?.int == Bounds.replyTextBytesMax)
        let every = schemas["Repeat"]?["properties"]?["every"]
        #expect(every?["minimum"]?.int == Bounds.repeatSeconds.lowerBound)
        #expect(every?["maximum"]?.int == Bounds.repeatSeconds.upperBound)
        let total = schemas["Repeat"]?["properties"]?["for"]
        #expect(total?["minimum"]?.int == Bounds.repeatTotalSeconds.lowerBound)
        #expect(total?["maximum"]?.int == Bounds.repeatTotalSeconds.upperBound)
        let timeout = schemas["ReplyWaitRequest"]?["properties"]?["timeout"]
        #expect(timeout?["maximum"]?.int == Bounds.replyWaitSecondsMax)
        #expect(timeout?["default"]?.int == Bounds.replyWaitSecondsDefault)
        let outcomes = schemas["OutcomesRequest"]?["properties"]
        #expect(outcomes?["timeout"]?["maximum"]?.int == Bounds.replyWaitSecondsMax)
        #expect(outcomes?["limit"]?["maximum"]?.int == Bounds.historyPageItemsMax)
        #expect(outcomes?["limit"]?["default"]?.int == Bounds.historyPageItemsDefault)
        #expect(
            schemas["PresenceRequest"]?["properties"]?["seconds"]?["maximum"]?.int
                == Bounds.presenceSecondsMax)
        #expect(schemas["Secret"]?["minLength"]?.int == 1)
        #expect(schemas["NewSecret"]?["minLength"]?.int == RequestRules().secretBytesMin)
        #expect(schemas["NewSecret"]?["maxLength"]?.int == Bounds.secretBytesMax)
        #expect(schemas["Secret"]?["maxLength"]?.int == Bounds.secretBytesMax)
        #expect(schemas["Detail"]?["maxLength"]?.int == Bounds.deviceDetailBytesMax)
        #expect(
            schemas["RegisterRequest"]?["properties"]?["challengeCode"]?["pattern"]
                == .string("^[0-9a-f]{\(ChallengeCodes.count)}$"))
        let webPush = schemas["WebPush"]?["properties"]
        #expect(schemas["Endpoint"]?["maxLength"]?.int == PushEndpoint.bytesMax)
        #expect(webPush?["page"]?["maxLength"]?.int == WebPushDevice.pageBytesMax)
        let batch = schemas["EventsRequest"]?["properties"]?["events"]
        #expect(batch?["minItems"]?.int == 1 && batch?["maxItems"]?.int == Bounds.batchEventsMax)
        let notification = schemas["Notification"]?["properties"]
        #expect(notification?["badge"]?["oneOf"]?.array?.first?["maximum"]?.int == Bounds.badgeMax)
        #expect(notification?["ttl"]?["maximum"]?.int == Bounds.timeToLiveSecondsMax)
        #expect(notification?["collapseID"]?["pattern"] == .string("^[!-~]{1,\(CollapseID.bytesMax)}$"))
        #expect(
            Set(notification?["interruptionLevel"]?["enum"]?.array?.compactMap(\.string) ?? [])
                == Set(APS.InterruptionLevel.allCases.map(\.rawValue)))
        #expect(
            schemas["QuietHours"]?["properties"]?["timeZone"]?["maxLength"]?.int == TimeZones.nameBytesMax)
        #expect(schemas["Identifier"]?["maxLength"]?.int == Bounds.identifierBytesMax)
        #expect(
            schemas["InstallationID"]?["pattern"]
                == .string("^[ -~]{1,\(Bounds.installationCountMax)}$"))
        #expect(schemas["Sealed"]?["maxLength"]?.int == Bounds.sealedCountMax)
        #expect(schemas["SealedVersions"]?["maxItems"]?.int == Bounds.sealedVersionsMax)
        #expect(schemas["SealedVersions"]?["items"]?["maximum"]?.int == Bounds.sealedVersionMax)
        #expect(schemas["Kind"]?["pattern"] == .string("^[a-z0-9_-]{1,\(Bounds.kindCountMax)}$"))
        #expect(
            schemas["Preferences"]?["properties"]?["eventTypes"]?["maxItems"]?.int == Bounds.kindsMax)
        #expect(schemas["EventID"]?["maxLength"]?.int == Bounds.eventIDBytesMax)
        #expect(
            schemas["DeviceToken"]?["pattern"] == .string("^([0-9A-Fa-f]{2}){1,\(DeviceToken.countMax / 2)}$")
        )
        #expect(schemas["BundleID"]?["pattern"] == .string("^[A-Za-z0-9.-]{1,\(APNs.Topic.countMax)}$"))
        #expect(
            schemas["EventAnswer"]?["properties"]?["deliveries"]?["maxItems"]?.int
                == Bounds.deliveriesListedMax)
        #expect(schemas["EventType"]?["enum"]?.array == EventType.allCases.map { .string($0.rawValue) })
        let page = schemas["HistoryListRequest"]?["properties"]?["limit"]
        #expect(page?["maximum"]?.int == Bounds.historyPageItemsMax)
        #expect(page?["default"]?.int == Bounds.historyPageItemsDefault)
        #expect(
            schemas["HistoryAnswer"]?["properties"]?["items"]?["maxItems"]?.int == Bounds.historyPageItemsMax)
        #expect(
            schemas["HistoryReadRequest"]?["properties"]?["ids"]?["maxItems"]?.int == Bounds.historyReadIDsMax
        )
        let schedule = schemas["ScheduleRequest"]?["properties"]
        #expect(schedule?["in"]?["maximum"]?.int == Bounds.scheduleSecondsMax)
        #expect(schedule?["lateBy"]?["maximum"]?.int == Bounds.scheduleLateByMax)
        #expect(schedule?["lateBy"]?["default"]?.int == Bounds.scheduleLateByDefault)
        #expect(schedule?["window"]?["maximum"]?.int == Bounds.scheduleWindowMax)
        #expect(schemas["ScheduleName"]?["maxLength"]?.int == Bounds.scheduleNameBytesMax)
        #expect(
            schemas["ScheduleList"]?["properties"]?["schedules"]?["maxItems"]?.int
                == Bounds.schedulesListedMax)
        #expect(schemas["TokenList"]?["properties"]?["tokens"]?["maxItems"]?.int == Bounds.accessTokensMax)
        #expect(
            schemas["Token"]?["properties"]?["token"]?["pattern"]
                == .string("^rt_[A-Za-z0-9_-]{\(AccessTokenText.count - 3)}$"))
        #expect(
            schemas["TokenScope"]?["enum"]?.array == AccessTokenScope.allCases.map { .string($0.rawValue) })
        let recurrence = schemas["Recurrence"]?["properties"]
        #expect(recurrence?["interval"]?["maximum"]?.int == Bounds.scheduleHoursMax)
        #expect(recurrence?["at"]?["maxItems"]?.int == Bounds.scheduleTimesMax)
        #expect(
            Set(
                schemas["Schedule"]?["properties"]?["lastOutcome"]?["enum"]?.array?.compactMap(\.string) ?? []
            )
                == Set(ScheduleQueue.Outcome.allCases.map(\.rawValue)))
        #expect(
            Set(schemas["APNsEnvironment"]?["enum"]?.array?.compactMap(\.string) ?? [])
                == Set(DeviceEnvironment.allCases.map(\.rawValue)))
        #expect(
            document["components"]?["headers"]?["RequestID"]?["schema"]?["pattern"]
                == .string("^[A-Za-z0-9._:-]{1,\(Bounds.requestIDCountMax)}$"))
    }

    /// Valid and invalid requests of every kind.
    private static let requests: [(path: String, body: JSON.Value)] = {
        let secret: JSON.Value = .string(RelayFixture.secret)
        let long = String(repeating: "a", count: 513)
        let itemID = "01970000-0000-7000-8000-000000000000"
        let texts: [JSON.Value] = [
            "", "a", "aa00", "AA0f", "abc", .string(long), .string(String(long.prefix(512))),
            .string(String(long.prefix(400))), .string(String(long.prefix(256))),
            .string(String(long.prefix(255))),
            .string(String(long.prefix(129))), .string(String(long.prefix(128))),
            .string(String(long.prefix(16))),
            .string(String(long.prefix(15))), .string(String(long.prefix(155))),
            .string(String(long.prefix(156))),
            "org.example-App.1", "a b", "a\0aaaaaaaaaaaaaaaa", "é", "complete", "permission", "error",
            "sandbox",
            "production", "Sandbox", .null, 1, true, [], [:], 0, 5, 10, -1, 999_999, 1_000_000, 2_592_000,
            2_592_001, ["error"], ["error", "error"], ["start"], ["aps": 1], ["name": "x"], ["name": 1],
            ["name": "x", "critical": true, "volume": 1], ["name": "x", "volume": 2], "alert", "passive",
            "AQ", "AQA", "AQB", "AR", "AgAA", "AfAAAQ", "AQAAA", [1], [1, 2], [1, 1], [0], [256], ["Start"],
            .array((1...9).map { .int($0) }), .string("AQ" + String(repeating: "A", count: 2_000)),
            .string(String(repeating: "AQAA", count: 901)),
            "time-sensitive", "unread", false, .string(itemID), [.string(itemID)], [.string(itemID), "x"],
            .array(Array(repeating: .string(itemID), count: 100)),
            .array(Array(repeating: .string(itemID), count: 101)), "07:00", "24:00", "aé",
            .string(String(repeating: "0a", count: 20)),
        ]
        let bases: [(String, JSON.Value, [RequestField])] = [
            (
                "/v1/device/register",
                ["secret": secret, "deviceToken": "aa00", "bundleId": "a", "apnsEnv": "sandbox", "x": 1],
                [
                    .secret, .deviceToken, .bundleID, .apnsEnvironment, .deviceName, .deviceModel,
                    .osVersion, .appVersion, .challengeCode, .preferences, .installationID, .sealed,
                ]
            ),
            ("/v1/device/list", ["secret": secret], [.secret]),
            (
                "/v1/notify", ["secret": secret, "notification": ["title": "t"]],
                [.secret, .deviceToken, .eventID, .sealed, .shorten]
            ),
            (
                "/v1/notify", ["secret": secret, "notification": ["sound": "default"]],
                [.title, .subtitle, .body]
            ),
            (
                "/v1/notify", ["secret": secret, "title": "t", "body": "b"],
                [.secret, .title, .subtitle, .body]
            ),
            ("/v1/device/unregister", ["secret": secret, "deviceToken": "aa00"], [.secret, .deviceToken]),
            (
                "/v1/outcomes", ["secret": secret], [.secret, .outcomeCursor, .since, .historyLimit]
            ),
            ("/v1/history/list", ["secret": secret, "limit": 1], [.secret, .historyBefore, .historyLimit]),
            (
                "/v1/history/read", ["secret": secret, "ids": [.string(itemID)]],
                [.secret, .historyIDs, .historyAll]
            ),
            ("/v1/history/read", ["secret": secret], [.historyIDs, .historyAll]),
            (
                "/v1/schedule/create", ["secret": secret, "in": 60, "notification": ["title": "t"]],
                [
                    .secret, .scheduleIn, .scheduleName, .scheduleLateBy, .scheduleWindow, .deviceToken,
                    .sealed,
                ]
            ),
            (
                "/v1/schedule/create",
                ["secret": secret, "in": 60, "eventType": "complete", "sessionID": "s"],
                [.eventType, .sessionID, .serverID, .title, .body, .category, .mutableContent, .sealed]
            ),
            ("/v1/schedule/list", ["secret": secret], [.secret]),
            (
                "/v1/schedule/cancel", ["secret": secret, "id": .string(itemID)],
                [.secret, .scheduleID, .scheduleName]
            ),
            ("/v1/schedule/cancel", ["secret": secret], [.scheduleID, .scheduleName]),
            (
                "/v1/token/create", ["secret": secret, "scope": "send", "name": "n"],
                [.secret, .scope, .scheduleName]
            ),
            ("/v1/token/list", ["secret": secret], [.secret]),
            (
                "/v1/events", ["secret": secret, "events": [["eventType": "complete", "sessionID": "s"]]],
                [.secret, .events]
            ),
            ("/v1/token/revoke", ["secret": secret, "tokenID": .string(itemID)], [.secret, .tokenID]),
            (
                "/v1/event", ["secret": secret, "eventType": "complete", "sessionID": "s"],
                [
                    .secret, .eventType, .sessionID, .serverID, .title, .body, .eventID, .category,
                    .mutableContent, .sealed,
                ]
            ),
        ]
        let nested: [(String, JSON.Value, [RequestField])] = [
            (
                "/v1/notify",
                ["secret": secret, "notification": ["title": "t", "body": "b", "pushType": "alert"]],
                RequestField.allCases.filter { $0.rawValue.hasPrefix("notification.") }
            ),
            (
                "/v1/device/register",
                [
                    "secret": secret, "deviceToken": "aa00",
                    "preferences": [
                        "quietHours": ["from": "22:00", "to": "06:00", "timeZone": "Europe/Berlin"]
                    ],
                ],
                RequestField.allCases.filter { $0.rawValue.hasPrefix("preferences.") }
            ),
        ]
        // A schema can't express what a unit allows.
        let hours: (String, JSON.Value, [RequestField]) = (
            "/v1/schedule/create",
            ["secret": secret, "every": ["unit": "hour"], "notification": ["title": "t"]],
            [.everyUnit, .everyInterval]
        )
        var requests: [(String, JSON.Value)] = []
        for (path, base, fields) in nested + [hours] {
            requests.append((path, base))
            for field in fields {
                for value in [nil] + texts.map(Optional.init) {
                    let place = field.rawValue.split(separator: ".").map(String.init)
                    requests.append((path, replacing(place[...], in: base, with: value)))
                }
            }
        }
        for (path, base, fields) in bases {
            requests.append((path, base))
            for field in fields {
                for text in [nil] + texts.map(Optional.init) {
                    guard var object = base.object else { continue }
                    object[field.rawValue] = text
                    requests.append((path, .object(object)))
                }
            }
        }
        return requests
    }()

    /// Replaces the member at a place in a value.
    private static func replacing(
        _ place: ArraySlice<String>, in base: JSON.Value, with value: JSON.Value?
    ) -> JSON.Value {
        guard let name = place.first, var object = base.object else { return base }
        if place.count == 1 {
            object[name] = value
        } else {
            object[name] = replacing(place.dropFirst(), in: object[name] ?? [:], with: value)
        }
        return .object(object)
    }

    @Test("What it says of a request is what the code says, field by field and value by value")
    func agreement() async throws {
        var options = RelayFixture.Options()
        options.history = History.Options(lifetime: .seconds(86_400))
        try await RelayFixture.with(options) { relay in
            for (path, body) in Self.requests {
                let operation = document["paths"]?[path]?["post"]
                let wanted = try #require(
                    operation?["requestBody"]?["content"]?["application/json"]?["schema"])
                let faults = schema.faults(in: body, wanted)
                // If the body contains no secret, the header does.
                let bearer = [("Authorization", "Bearer \(RelayFixture.secret)")]
                let headers = body["secret"] == nil ? bearer : []
                let response = await relay.answer(
                    Request(method: .post, target: path, headers: headers, body: body.encoded()))
                let isRefused = response.status == 400
                #expect(isRefused == !faults.isEmpty, "\(path) \(body): \(response.json), \(faults)")
                schema.expect(response, isDescribedBy: operation)
            }
        }
    }
}
