import APNs
import JSON

/// A notification whose every part the caller names: checked against Apple's rules before anything is sent.
///
/// Source: Apple, "Generating a remote notification" and "Pushing background updates to your app".
struct NotificationContent: Sendable {
    /// A sound: a name alone, or Apple's dictionary for critical alerts.
    struct Sound: Sendable {
        var name: String
        /// `nil` with ``volume`` for a name alone.
        var isCritical: Bool?
        /// 0 to 1, in the text it came with.
        var volume: JSON.Number?
    }

    /// Apple's interruption levels.
    enum InterruptionLevel: String, CaseIterable, Sendable {
        case passive, active, critical
        case timeSensitive = "time-sensitive"
    }

    private(set) var pushType = PushType.alert
    private(set) var priority = Priority.immediate
    private(set) var collapseID: CollapseID?
    private(set) var timeToLive: Duration?
    private let title: String?
    private let subtitle: String?
    private let body: String?
    private let badge: Int?
    private let sound: Sound?
    private let category: String?
    private let threadID: String?
    private let interruptionLevel: InterruptionLevel?
    private let relevanceScore: JSON.Number?
    private let isMutable: Bool
    private let isContentAvailable: Bool
    /// Members beside `aps`.
    private let data: JSON.Object

    /// Checks a notification; fields are looked at in the order of docs/API.md, then what they must be together.
    init(_ fields: RequestFields) throws(APIError) {
        if let type = try fields.optional(.notificationPushType) {
            guard let type = PushType(rawValue: type), type == .alert || type == .background else {
                throw APIError(.invalidField, field: .notificationPushType)
            }
            pushType = type
        }
        title = try fields.optional(.notificationTitle) { !$0.isEmpty }
        subtitle = try fields.optional(.notificationSubtitle) { !$0.isEmpty }
        body = try fields.optional(.notificationBody) { !$0.isEmpty }
        badge = try fields.integer(.notificationBadge, in: 0...Bounds.badgeMax)
        sound = try fields.optional(.notificationSound, Sound.init)
        category = try fields.word(.notificationCategory, most: Bounds.identifierBytesMax)
        threadID = try fields.word(.notificationThreadID, most: Bounds.identifierBytesMax)
        collapseID = try fields.optional(.notificationCollapseID) { $0.string.flatMap(CollapseID.init) }
        interruptionLevel = try fields.optional(.notificationInterruptionLevel) { value in
            value.string.flatMap(InterruptionLevel.init(rawValue:))
        }
        relevanceScore = try fields.share(.notificationRelevanceScore)
        let priority = try fields.optional(.notificationPriority) {
            $0.wholeNumber.flatMap(Priority.init(rawValue:))
        }
        timeToLive = try fields.integer(.notificationTimeToLive, in: 0...Bounds.timeToLiveSecondsMax)
            .map { .seconds($0) }
        isMutable = try fields.flag(.notificationMutableContent) ?? false
        let isContentAvailable = try fields.flag(.notificationContentAvailable)
        self.isContentAvailable = isContentAvailable ?? (pushType == .background)
        data =
            try fields.optional(.notificationData) { value in
                value.object.flatMap { $0["aps"] == nil ? $0 : nil }
            } ?? JSON.Object()
        self.priority = priority ?? (pushType == .background ? .considerate : .immediate)
        switch pushType {
        case .background: try checkBackground(fields)
        default: try checkAlert()
        }
        let size = payload(PushStyle()).count
        guard size <= Notification.payloadBytesMax else {
            throw APIError(
                .payloadTooLarge, field: .notification,
                hint: "It has \(size) bytes; at most \(Notification.payloadBytesMax) are allowed.")
        }
    }

    private var hasText: Bool { title != nil || subtitle != nil || body != nil }

    private func checkAlert() throws(APIError) {
        guard hasText || badge != nil || sound != nil else {
            throw APIError(
                .invalidField, field: .notification,
                hint: "An alert needs a title, a subtitle, a body, a badge or a sound.")
        }
        guard !isMutable || hasText else {
            throw APIError(
                .invalidField, field: .notificationMutableContent,
                hint: "Only a notification with a text can be changed on the device.")
        }
    }

    /// A background push carries data and nothing that a person would notice.
    private func checkBackground(_ fields: RequestFields) throws(APIError) {
        let visible: [RequestField] = [
            .notificationTitle, .notificationSubtitle, .notificationBody, .notificationBadge,
            .notificationSound,
            .notificationCategory, .notificationThreadID, .notificationInterruptionLevel,
            .notificationRelevanceScore,
        ]
        for field in visible where fields.value(field) != nil {
            throw APIError(.invalidField, field: field, hint: "A background push must not have it.")
        }
        guard priority == .considerate else {
            throw APIError(
                .invalidField, field: .notificationPriority, hint: "The priority of a background push is 5.")
        }
        guard !isMutable else {
            throw APIError(
                .invalidField, field: .notificationMutableContent, hint: "A background push must not have it."
            )
        }
        guard isContentAvailable else {
            throw APIError(
                .invalidField, field: .notificationContentAvailable,
                hint: "A background push has content available, or it is none.")
        }
    }
}

extension NotificationContent: PushContent {
    var eventType: EventType? { nil }
    var isSoundAlone: Bool { pushType == .alert && !hasText && badge == nil }
    var logType: String { "notify" }
    var sessionID: String { threadID ?? "" }

    /// The payload as the caller wants it; in quiet hours without sound and, where that fits, as `passive`.
    ///
    /// The app's own sound isn't added: the caller says it all.
    func payload(_ style: PushStyle) -> [UInt8] {
        guard style.isQuiet, pushType == .alert else {
            return written(sound: sound, interruptionLevel: interruptionLevel)
        }
        let passive = written(sound: nil, interruptionLevel: .passive)
        return passive.count <= Notification.payloadBytesMax
            ? passive : written(sound: nil, interruptionLevel: interruptionLevel)
    }

    private func written(sound: Sound?, interruptionLevel: InterruptionLevel?) -> [UInt8] {
        var writer = JSON.Writer(capacity: 768)
        writer.beginObject()
        writer.name("aps")
        writer.beginObject()
        if hasText {
            writer.name("alert")
            writer.beginObject()
            if let title { writer.member("title", title) }
            if let subtitle { writer.member("subtitle", subtitle) }
            if let body { writer.member("body", body) }
            writer.endObject()
        }
        if let badge { writer.member("badge", badge) }
        sound?.write(to: &writer)
        if let category { writer.member("category", category) }
        if let threadID { writer.member("thread-id", threadID) }
        if let interruptionLevel { writer.member("interruption-level", interruptionLevel.rawValue) }
        if let relevanceScore {
            writer.name("relevance-score")
            writer.number(relevanceScore)
        }
        if isMutable { writer.member("mutable-content", 1) }
        if isContentAvailable { writer.member("content-available", 1) }
        writer.endObject()
        for member in data.members {
            writer.name(member.name)
            writer.value(member.value)
        }
        writer.endObject()
        return writer.finish()
    }
}

extension NotificationContent.Sound {
    /// Reads a name or Apple's dictionary; `nil` for anything else.
    init?(_ value: JSON.Value) {
        guard let name = value.string ?? value["name"]?.string,
            (1...Bounds.identifierBytesMax).contains(name.utf8.count), !name.utf8.contains(0)
        else { return nil }
        self.name = name
        guard value.object != nil else { return }
        if let critical = value["critical"] {
            guard let critical = critical.bool else { return nil }
            isCritical = critical
        }
        if let volume = value["volume"] {
            guard let number = volume.number, let size = number.double, (0...1).contains(size) else {
                return nil
            }
            self.volume = number
        }
    }

    fileprivate func write(to writer: inout JSON.Writer) {
        guard isCritical != nil || volume != nil else { return writer.member("sound", name) }
        writer.name("sound")
        writer.beginObject()
        if isCritical == true { writer.member("critical", 1) }
        writer.member("name", name)
        if let volume {
            writer.name("volume")
            writer.number(volume)
        }
        writer.endObject()
    }
}
