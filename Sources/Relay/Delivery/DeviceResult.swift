import APNs
import JSON
import Storage

/// What one device's push came to, as the answer to the event says it.
struct DeviceResult: Sendable, Equatable {
    /// How it ended.
    enum Status: Sendable, Equatable {
        /// APNs took the push under this identifier.
        case sent(apnsID: String)
        /// It is stored and will be sent later, because of a reason as that of a failure.
        case queued(reason: String)
        /// It was given up: APNs' reason or one of ours, at most ``Bounds/reasonBytesMax`` bytes.
        case failed(reason: String)
        /// Its device doesn't want it.
        case muted
    }

    /// The registration's id, for the delivery log.
    let deviceID: String
    /// The token, masked.
    let maskedToken: String
    /// The push's `apns-id`, which is the delivery log's row too; `nil` where there was none to be made.
    var pushID: String?
    let status: Status
    /// The registration is gone because of this push.
    var removed = false
}

extension Device {
    /// An ellipsis and the token's last eight characters.
    ///
    /// Of a stored text that is no token at most half is shown, and nothing but printable ASCII.
    var maskedToken: String {
        if let token = DeviceToken(token) { return token.description }
        let scalars = token.unicodeScalars
        let end = scalars.suffix(min(DeviceToken.suffixCount, scalars.count / 2))
        return "…" + String(end.map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}

/// The answer to an event: how its pushes ended.
struct EventAnswer: Sendable, Equatable {
    let results: [DeviceResult]
    /// Pushes that APNs took.
    private(set) var sent = 0
    /// Pushes that are stored to be sent later.
    private(set) var queued = 0
    /// Pushes that were given up.
    private(set) var failed = 0
    /// Pushes that their devices don't want.
    private(set) var muted = 0

    /// The answer that says these results.
    init(results: [DeviceResult]) {
        self.results = results
        for index in results.indices {
            switch results[index].status {
            case .sent: sent += 1
            case .queued: queued += 1
            case .failed: failed += 1
            case .muted: muted += 1
            }
        }
    }

    /// The answer's body.
    ///
    /// The counts are of all devices; `deliveries` lists at most ``Bounds/deliveriesListedMax``, so that the
    /// answer can be kept for the same `eventID`.
    var body: [UInt8] {
        var writer = JSON.Writer(capacity: 64 + 112 * min(results.count, Bounds.deliveriesListedMax))
        writer.beginObject()
        writer.member("ok", true)
        writer.member("sent", sent)
        writer.member("failed", failed)
        writer.member("queued", queued)
        writer.member("muted", muted)
        writer.name("deliveries")
        writer.beginArray()
        for index in results.indices.prefix(Bounds.deliveriesListedMax) {
            append(index, to: &writer)
        }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }

    /// By index, so that no result is copied.
    private func append(_ index: Int, to writer: inout JSON.Writer) {
        writer.beginObject()
        writer.member("device", results[index].maskedToken)
        switch results[index].status {
        case .sent(let apnsID):
            writer.member("status", word: "sent")
            writer.member("apnsID", apnsID)
        case .queued(let reason):
            writer.member("status", word: "queued")
            if let id = results[index].pushID { writer.member("apnsID", id) }
            writer.member("reason", reason)
        case .failed(let reason):
            writer.member("status", word: "failed")
            writer.member("reason", reason)
        case .muted:
            writer.member("status", word: "muted")
        }
        if results[index].removed { writer.member("removed", true) }
        writer.endObject()
    }
}
