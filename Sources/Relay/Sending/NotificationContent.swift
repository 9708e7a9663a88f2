import APNs
import JSON
import Storage

/// A notification defined by the caller, checked against Apple's rules before anything is sent.
///
/// Source: Apple, "Generating a remote notification" and "Pushing background updates to your app".
struct NotificationContent: Sendable {
    private(set) var pushType = PushType.alert
    private(set) var priority = Priority.immediate
    private(set) var collapseID: CollapseID?
    private(set) var timeToLive: Duration?
    let kind: String?
    /// The actions that replies may contain; empty if any action is allowed.
    let actions: [String]
    private let sealed: SealedText?
    /// Whether the badge is the number of unread items.
    private(set) var hasUnreadBadge = false
    /// The texts to send, which may have been shortened.
    private var aps = APS()
    /// The texts as the caller sent them, for the history and the digest.
    private var texts = Texts()
    /// The payload's members next to `aps`.
    private let data: JSON.Object
    /// The notification's members as sent, for ``stored``.
    private let members: JSON.Object
    private let isShortened: Bool

    /// Checks a notification: first its fields in the order of docs/reference/api.md, then their combination.
    ///
    /// - Parameter isShortened: Whether texts that don't fit are shortened, as in events.
    init(
        _ fields: RequestFields, sealed: SealedText? = nil, isShortened: Bool = true
    ) throws(APIError) {
        if let type = try fields.optional(.notificationPushType) {
            guard let type = PushType(rawValue: type), Self.pushTypes.contains(type) else {
                throw APIError(.invalidField, field: .notificationPushType)
            }
            pushType = type
        }
        texts.title = try fields.shownText(.notificationTitle)
        texts.subtitle = try fields.shownText(.notificationSubtitle)
        texts.body = try fields.shownText(.notificationBody)
        aps.show(texts)
        hasUnreadBadge = fields.value(.notificationBadge)?.string == DevicePreferences.Badge.unread.rawValue
        if !hasUnreadBadge {
            aps.badge = try fields.integer(.notificationBadge, in: 0...Bounds.badgeMax)
        }
        aps.sound = try fields.optional(.notificationSound, APS.Sound.init)
        aps.category = try fields.word(.notificationCategory, most: Bounds.identifierBytesMax)
        aps.threadID = try fields.word(.notificationThreadID, most: Bounds.identifierBytesMax)
        collapseID = try fields.optional(.notificationCollapseID) { $0.string.flatMap(CollapseID.init) }
        aps.interruptionLevel = try fields.optional(.notificationInterruptionLevel) { value in
            value.string.flatMap(APS.InterruptionLevel.init(rawValue:))
        }
        aps.relevanceScore = try fields.unitInterval(.notificationRelevanceScore)
        let priority = try fields.optional(.notificationPriority) {
            $0.wholeNumber.flatMap(Priority.init(rawValue:))
        }
        timeToLive = try fields.integer(.notificationTimeToLive, in: 0...Bounds.timeToLiveSecondsMax)
            .map { .seconds($0) }
        self.sealed = sealed
        aps.isMutable = try fields.flag(.notificationMutableContent) ?? false || sealed != nil
        aps.isContentAvailable =
            try fields.flag(.notificationContentAvailable) ?? (pushType == .background)
        data =
            try fields.optional(.notificationData) { value in
                value.object.flatMap { $0["aps"] == nil ? $0 : nil }
            } ?? JSON.Object()
        members = fields.members(without: [])
        self.isShortened = isShortened
        kind = try fields.optional(.notificationKind, where: EventType.isKind)
        actions = try fields.actions(.notificationActions)
        self.priority = priority ?? (pushType == .alert ? .immediate : .conserveDevicePower)
        switch pushType {
        case .background: try checkBackground(fields)
        case .widgets, .controls: try checkReload(fields)
        default: try checkAlert()
        }
        try checkSealed()
        if isShortened, size > Notification.payloadBytesMax { shorten() }
        let size = size
        guard size <= Notification.payloadBytesMax else {
            throw APIError(
                .payloadTooLarge, field: .notification,
                hint: "It is \(size) bytes long; the limit is \(Notification.payloadBytesMax).")
        }
    }

    /// The size of the payload as the caller defined it, with the largest unread badge if the caller wants one.
    private var size: Int {
        payload(PushStyle(unreadBadge: hasUnreadBadge ? Bounds.historyItemsMax : nil)).count
    }

    /// Shortens the body, then the subtitle, then the title, so that each device's payload fits.
    private mutating func shorten() {
        var empty = self
        empty.aps.show(texts.emptied)
        let sizes = [false, true].map { isQuiet in
            empty.payload(PushStyle(isQuiet: isQuiet, unreadBadge: Bounds.historyItemsMax)).count
        }
        let room = Notification.payloadBytesMax - (sizes.max() ?? 0)
        aps.show(texts.shortened(toEscaped: room))
    }

    /// Makes the push replace earlier pushes for the event on the device, unless the caller has set a collapse ID.
    mutating func repeats(_ eventID: String) {
        collapseID = collapseID ?? Repetition.collapseID(of: eventID)
    }

    /// Refuses a badge with the number of unread items if the relay doesn't know that number.
    func checkBadge(_ rules: RequestRules) throws(APIError) {
        guard !hasUnreadBadge || rules.hasHistory else {
            throw APIError(.historyOff, field: .notificationBadge)
        }
    }

    /// The accepted values of `pushType`.
    private static let pushTypes: [PushType] = [.alert, .background, .widgets, .controls]

    /// A reload of widgets or controls has no content: the app's extension requests what it shows.
    private func checkReload(_ fields: RequestFields) throws(APIError) {
        let allowed: [RequestField] = [
            .notificationPushType, .notificationPriority, .notificationTimeToLive, .notificationCollapseID,
            .notificationKind,
        ]
        for field in RequestField.allCases where field.rawValue.hasPrefix("notification.") {
            guard fields.has(field), !allowed.contains(field) else { continue }
            throw APIError(
                .invalidField, field: field, hint: "It is not allowed in a \(pushType.rawValue) push.")
        }
    }

    private func checkAlert() throws(APIError) {
        guard aps.hasText || aps.badge != nil || hasUnreadBadge || aps.sound != nil else {
            throw APIError(
                .invalidField, field: .notification,
                hint: "An alert needs a title, a subtitle, a body, a badge or a sound.")
        }
        guard !aps.isMutable || aps.hasText || sealed != nil else {
            throw APIError(
                .invalidField, field: .notificationMutableContent,
                hint: "mutableContent requires a title, subtitle or body.")
        }
    }

    /// The app's extension can open only visible notifications, and needs text to replace.
    ///
    /// The extension reads the type of the sealed text from the payload, so no member may imitate it.
    private func checkSealed() throws(APIError) {
        guard sealed == nil || aps.hasText else {
            throw APIError(
                .invalidField, field: .sealed,
                hint:
                    "It requires an alert with a title, subtitle or body, which is shown if it can't be opened."
            )
        }
        var taken = sealed != nil ? ["sealed", "kind", "eventType"] : kind != nil ? ["kind"] : []
        if !actions.isEmpty { taken.append("actions") }
        for name in taken where data[name] != nil {
            let other = name == "actions" || sealed == nil ? name : "sealed"
            throw APIError(
                .invalidField, field: .notificationData,
                hint: "It must not contain the member \(name) if the request also has \(other).")
        }
    }

    /// A background push contains data and nothing visible or audible.
    private func checkBackground(_ fields: RequestFields) throws(APIError) {
        let visible: [RequestField] = [
            .notificationTitle, .notificationSubtitle, .notificationBody, .notificationBadge,
            .notificationSound,
            .notificationCategory, .notificationThreadID, .notificationInterruptionLevel,
            .notificationRelevanceScore,
        ]
        for field in visible where fields.has(field) {
            throw APIError(.invalidField, field: field, hint: "It is not allowed in a background push.")
        }
        guard priority == .conserveDevicePower else {
            throw APIError(
                .invalidField, field: .notificationPriority, hint: "A background push must have priority 5.")
        }
        guard !aps.isMutable || sealed != nil else {
            throw APIError(
                .invalidField, field: .notificationMutableContent,
                hint: "It is not allowed in a background push.")
        }
        guard aps.isContentAvailable else {
            throw APIError(
                .invalidField, field: .notificationContentAvailable,
                hint: "A background push requires contentAvailable.")
        }
    }
}

extension NotificationContent: PushContent {
    var isSoundAlone: Bool { pushType == .alert && !aps.hasText && aps.badge == nil && !hasUnreadBadge }
    var showsText: Bool { pushType == .alert && aps.hasText }
    var logType: String { "notify" }
    var sessionID: String { aps.threadID ?? "" }

    var history: HistoryContent? {
        guard pushType == .alert, aps.hasText else { return nil }
        return HistoryContent(title: texts.title, body: texts.body, sealed: sealed?.text)
    }

    func digest(to device: DeviceToken?, repetition: String?) -> Digest256 {
        // The payload with the texts as the caller sent them.
        var full = aps
        full.show(texts)
        return Digest256(
            ofParts: [
                "notify", device?.text, pushType.rawValue, priority.text, collapseID?.text,
                timeToLive.map { String($0.components.seconds) },
                String(decoding: written(full), as: UTF8.self),
            ] + (hasUnreadBadge ? [DevicePreferences.Badge.unread.rawValue] : [])
                + (repetition.map { [$0] } ?? [])
                + (actions.isEmpty ? [] : ["actions " + actions.joined(separator: " ")]))
    }

    var stored: StoredContent? {
        var body = JSON.Object()
        body[RequestField.notification.rawValue] = .object(members)
        body[RequestField.sealed.rawValue] = sealed.map { .string($0.text) }
        if !isShortened { body[RequestField.shorten.rawValue] = false }
        return StoredContent(target: .notify, body: body)
    }

    /// The payload as the caller defined it; in quiet hours without sound and, if that fits, as `passive`.
    ///
    /// The app's sound isn't added, because the caller defines the sound. The device's badge is added if it fits and
    /// the caller defines none.
    func payload(_ style: PushStyle) -> [UInt8] {
        guard style.isQuiet || style.unreadBadge != nil, pushType == .alert else { return written(aps) }
        var styled = aps
        if aps.badge == nil { styled.badge = style.unreadBadge }
        guard style.isQuiet else { return fitted(styled) }
        styled.sound = nil
        styled.interruptionLevel = .passive
        let passive = written(styled)
        guard passive.count > Notification.payloadBytesMax else { return passive }
        styled.interruptionLevel = aps.interruptionLevel
        return fitted(styled)
    }

    /// The payload; leaves out a badge that the caller didn't ask for if the payload would be too large with it.
    private func fitted(_ styled: APS) -> [UInt8] {
        let payload = written(styled)
        guard payload.count > Notification.payloadBytesMax, !hasUnreadBadge else { return payload }
        var styled = styled
        styled.badge = aps.badge
        return written(styled)
    }

    private func written(_ aps: APS) -> [UInt8] {
        var writer = JSON.Writer(capacity: 768)
        writer.beginObject()
        guard pushType == .alert || pushType == .background else {
            writer.name("aps")
            writer.beginObject()
            writer.member("content-changed", true)
            writer.endObject()
            writer.endObject()
            return writer.finish()
        }
        aps.write(to: &writer)
        if let sealed { writer.member("sealed", sealed.text) } else { writer.actions(actions) }
        if let kind { writer.member("kind", kind) }
        for member in data.members {
            writer.name(member.name)
            writer.value(member.value)
        }
        writer.endObject()
        return writer.finish()
    }
}

/// A notification's texts; a missing text is `nil`.
private struct Texts: Sendable {
    var title: String?
    var subtitle: String?
    var body: String?

    /// A copy in which the existing texts are empty.
    var emptied: Texts {
        Texts(title: title.map { _ in "" }, subtitle: subtitle.map { _ in "" }, body: body.map { _ in "" })
    }

    func shortened(toEscaped count: Int) -> Texts {
        let short = [title, subtitle, body].map { $0 ?? "" }.shortened(toEscaped: count)
        return Texts(
            title: title.map { _ in short[0] }, subtitle: subtitle.map { _ in short[1] },
            body: body.map { _ in short[2] })
    }
}

extension APS {
    fileprivate mutating func show(_ texts: Texts) {
        (title, subtitle, body) = (texts.title, texts.subtitle, texts.body)
    }
}
