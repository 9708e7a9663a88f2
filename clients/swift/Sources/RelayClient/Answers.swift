public import Foundation
internal import PushSealing

/// A device in the relay's list.
public struct RegisteredDevice: Sendable, Equatable {
    /// The last characters of the token, such as `…d4e5f6a7`.
    public let device: String
    /// The app.
    public let bundleID: String
    /// The APNs environment.
    public let environment: Registration.Environment?
    /// When the device was first registered.
    public let createdAt: Date?
    /// When the device was last registered.
    public let updatedAt: Date?
    /// The installation's ID, if the app supplied one.
    public let deviceID: String?
    /// The device's name.
    public let deviceName: String?
    /// The device's model.
    public let deviceModel: String?
    /// The system's version.
    public let osVersion: String?
    /// The app's version.
    public let appVersion: String?
    /// Which pushes the device wants.
    public let preferences: Preferences?
    /// The versions of sealed notifications that the device opens.
    public let opensSealed: [Int]
    /// The last push with a final result.
    public let lastPush: LastPush?

    /// A push's result.
    public struct LastPush: Sendable, Equatable {
        /// When the push ended.
        public let at: Date?
        /// `sent` or `failed`.
        public let status: String
        /// Why the push failed.
        public let reason: String?
    }

    init?(_ json: JSONValue) {
        guard let device = json["device"]?.string else { return nil }
        self.device = device
        bundleID = json["bundleId"]?.string ?? ""
        environment = json["apnsEnv"]?.string.flatMap(Registration.Environment.init)
        createdAt = json.date("createdAt")
        updatedAt = json.date("updatedAt")
        deviceID = json["deviceID"]?.string
        deviceName = json["deviceName"]?.string
        deviceModel = json["deviceModel"]?.string
        osVersion = json["osVersion"]?.string
        appVersion = json["appVersion"]?.string
        preferences = Preferences(json["preferences"])
        opensSealed = json["sealed"]?.array?.compactMap(\.integer) ?? []
        lastPush = json["lastPush"].flatMap { push in
            push["status"]?.string.map {
                LastPush(at: push.date("at"), status: $0, reason: push["reason"]?.string)
            }
        }
    }
}

/// The results of an event's or a notification's pushes.
public struct SendResult: Sendable, Equatable {
    /// How many pushes APNs accepted.
    public let sent: Int
    /// How many pushes failed.
    public let failed: Int
    /// How many pushes the relay will retry later.
    public let queued: Int
    /// How many pushes weren't sent because of a device's preferences or a user's presence.
    public let muted: Int
    /// The results for the devices, at most the first 380.
    public let deliveries: [Delivery]

    /// One device's result.
    public struct Delivery: Sendable, Equatable {
        /// The last characters of the token.
        public let device: String
        /// `sent`, `failed`, `queued` or `muted`.
        public let status: String
        /// Why the push failed or was queued.
        public let reason: String?
    }

    init(_ json: JSONValue) {
        sent = json["sent"]?.integer ?? 0
        failed = json["failed"]?.integer ?? 0
        queued = json["queued"]?.integer ?? 0
        muted = json["muted"]?.integer ?? 0
        deliveries = (json["deliveries"]?.array ?? []).map {
            Delivery(
                device: $0["device"]?.string ?? "", status: $0["status"]?.string ?? "",
                reason: $0["reason"]?.string)
        }
    }
}

/// A page of the relay's history, newest first.
public struct HistoryPage: Sendable, Equatable {
    /// The items.
    public let items: [Item]
    /// How many items in the whole history are unread.
    public let unread: Int
    /// The cursor for the next page; `nil` on the last page.
    public let next: String?

    /// An event or a notification that was sent.
    public struct Item: Sendable, Equatable {
        /// The item's ID at the relay.
        public let id: String
        /// When the item was sent.
        public let createdAt: Date?
        /// When the item was read; `nil` if it is unread.
        public let readAt: Date?
        /// The event type, or `notify`.
        public let eventType: String
        /// The session's ID, as the relay saw it.
        public let sessionID: String?
        /// The server's ID, as the relay saw it.
        public let serverID: String?
        /// The visible title, if the relay keeps texts.
        public let title: String?
        /// The visible text, if the relay keeps texts.
        public let body: String?
        /// The event's ID, for acknowledging it or replying to it; a sealed event also contains its ID.
        public let eventID: String?
        /// When somebody first acknowledged the event or replied to it; `nil` if nobody has.
        public let acknowledgedAt: Date?
        /// The sealed notification; open it with the type ``eventType``.
        public let sealed: String?
        /// The result of the reply to the event; the relay keeps it for a day after the event.
        public let result: ReplyResult?
    }

    init(_ json: JSONValue, key: PairingSecret?) {
        items = (json["items"]?.array ?? []).compactMap { item in
            guard let id = item["id"]?.string else { return nil }
            return Item(
                id: id, createdAt: item.date("createdAt"), readAt: item.date("readAt"),
                eventType: item["eventType"]?.string ?? "", sessionID: item["sessionID"]?.string,
                serverID: item["serverID"]?.string, title: item["title"]?.string, body: item["body"]?.string,
                eventID: item["eventID"]?.string, acknowledgedAt: item.date("acknowledgedAt"),
                sealed: item["sealed"]?.string,
                result: ReplyResult(
                    item["result"], eventID: item["eventID"]?.string, reply: nil, key: key))
        }
        unread = json["unread"]?.integer ?? 0
        next = json["next"]?.string
    }
}

extension JSONValue {
    /// A member that is an RFC 3339 time with milliseconds.
    func date(_ name: String) -> Date? {
        self[name]?.string.flatMap {
            try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse($0)
        }
    }
}
