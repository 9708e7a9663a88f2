import Network
import Programs
import Storage

/// Decides which devices of a fan-out get a push, when and in which style; a transport makes the pushes.
///
/// Most devices of a secret are similar, so what depends on that is looked up once per run of similar devices.
struct PushMaker<T: PushTransport> {
    private let recipients: Recipients
    private let content: any PushContent
    private let services: LoopServices
    private var transport: T
    private let now: EpochMilliseconds
    /// The secret's unread items, if they are known.
    private let unread: Int?
    private let mayHold: Bool
    /// The `id`s of devices that want no more pushes for now.
    private let full: Set<String>
    /// The devices whose push waits for the end of their quiet hours, and until when.
    private(set) var held: [(index: Int, until: EpochMilliseconds)] = []
    /// The previous device's headers.
    private var last: (index: Int, headers: TransportHeaders<T.Headers>)?

    /// Creates pushes to these devices; `now` is later than the time at which they were read.
    init(
        _ recipients: Recipients, _ content: any PushContent, through transport: T, _ services: LoopServices,
        at now: EpochMilliseconds, unread: Int? = nil, mayHold: Bool = false, full: Set<String> = []
    ) {
        self.recipients = recipients
        self.content = content
        self.transport = transport
        self.services = services
        self.now = now
        self.unread = unread
        self.mayHold = mayHold
        self.full = full
    }

    /// The push to a device, or why there is none; takes an index so that the device isn't copied.
    mutating func item(_ index: Int) -> FanOut.Item {
        guard let address = transport.address(of: recipients.devices[index]) else {
            return Self.item(.failed(reason: FailureReason.invalidRegistration))
        }
        switch headers(index) {
        case .none(let reason): return Self.item(.failed(reason: reason))
        case .found(let headers):
            let style: PushStyle
            switch way(for: index, transport.style(of: headers)) {
            case .now(let wanted): style = wanted
            case .muted: return Self.item(.muted)
            case .at(let time):
                held.append((index, time))
                return Self.item(.queued(reason: FailureReason.quietHours))
            }
            // Counted only here: a retry was counted when the push was created.
            let device = transport.limitKey(of: address, headers)
            guard services.shared.rates.takePush(to: device, at: services.loop.now) else {
                return Self.item(.failed(reason: FailureReason.deviceRateLimited))
            }
            return transport.item(to: address, headers, style)
        }
    }

    private static func item(_ result: DeviceResult.Status) -> FanOut.Item {
        FanOut.Item(push: nil, phase: .ended(result))
    }

    private mutating func headers(_ index: Int) -> TransportHeaders<T.Headers> {
        if let last, transport.haveSameHeaders(recipients.devices[index], recipients.devices[last.index]) {
            return last.headers
        }
        let headers = transport.headers(for: recipients.devices[index])
        last = (index, headers)
        return headers
    }

    /// The effect of a device's preferences on a push.
    private enum Delivery {
        case now(PushStyle)
        case at(EpochMilliseconds)
        case muted
    }

    private func way(for index: Int, _ usual: PushStyle) -> Delivery {
        guard !recipients.preferences.isEmpty else { return .now(usual) }
        guard !full.contains(recipients.devices[index].id) else { return .muted }
        let wanted = recipients.preferences(index)
        var style = usual
        if wanted.badge == .unread { style.unreadBadge = unread }
        switch wanted.wish(for: content.kind, at: now, zone: services.zone) {
        case .normal: break
        case .muted: return .muted
        case .quiet(let until):
            guard !content.isSoundAlone else { return .muted }
            if let until, mayHold, content.isAlert { return .at(until) }
            style.isQuiet = true
        }
        return .now(style)
    }
}
