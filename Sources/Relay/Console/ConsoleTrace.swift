import JSON
import Storage

/// `GET /v1/admin/push`: the fate of an event (found by its `eventID`), of a push (by its `apns-id`), or of a device's
/// pushes (by the last characters of the device's token).
///
/// The tables have no index for this, so the search covers one tenant, or the tenants with the latest requests.
struct ConsoleTrace: Sendable {
    let storage: any Storage
    let names: ConsoleNames
    let now: EpochMilliseconds

    /// What was found for one tenant.
    struct Finding: Sendable {
        let hash: SecretHash
        let devices: [String: Device]
        /// The event with this ID, according to its receipt.
        let state: EventState
        let acknowledgement: Acknowledgement?
        /// The matching results in the delivery log, newest first.
        let ended: [Delivery]
        let waiting: [WaitingPush]

        /// The pushes in the event's response.
        var responded: [DispatchReport.Delivery] {
            if case .answered(let response) = state {
                DispatchReport(response: response).deliveries
            } else {
                []
            }
        }

        var isEmpty: Bool { state == .unknown && ended.isEmpty && waiting.isEmpty }
    }

    /// Searches tenants, and writes what was found.
    func search(_ text: String, in hashes: [SecretHash]) async throws(StorageError) -> [UInt8] {
        var writer = JSON.Writer(capacity: 8 * 1024)
        writer.beginObject()
        writer.member("now", now)
        writer.member("searched", hashes.count)
        writer.name("found")
        writer.beginArray()
        for hash in hashes {
            let finding = try await look(for: text, in: hash)
            if !finding.isEmpty { write(finding, to: &writer) }
        }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }

    private func look(for text: String, in hash: SecretHash) async throws(StorageError) -> Finding {
        let key = SecretKey(primary: hash)
        let limit = Bounds.consoleRowsSearchedMax
        let event = EventName(text, of: key)
        let state = try await storage.state(of: event, at: now)
        let devices = try await storage.devices(of: key)
        var pushes: Set<String> = [text.lowercased()]
        if case .answered(let response) = state {
            pushes.formUnion(DispatchReport(response: response).deliveries.compactMap(\.pushID))
        }
        let end = text.lowercased().replacing("…", with: "")
        let matching = devices.filter {
            end.utf8.count >= 4 && $0.maskedToken.lowercased().hasSuffix(end)
        }.map(\.id)
        func isWanted(_ id: String, _ device: String?, of eventID: String? = nil) -> Bool {
            pushes.contains(id.lowercased()) || device.map(matching.contains) ?? false
                || eventID?.utf8.elementsEqual(text.utf8) ?? false
        }
        let rows = try await storage.newestDeliveries(of: key, count: limit).singles
        let waiting = try await storage.waitingPushes(of: hash, after: nil, limit: limit)
        return Finding(
            hash: hash, devices: Dictionary(devices.map { ($0.id, $0) }) { $1 }, state: state,
            acknowledgement: try await storage.acknowledgements(of: [event], at: now)[event],
            ended: Array(
                rows.filter { isWanted($0.id, $0.deviceID, of: $0.eventID) }.prefix(Bounds.consoleRowsMax)),
            waiting: Array(waiting.filter { isWanted($0.id, $0.deviceID) }.prefix(Bounds.consoleRowsMax)))
    }

    private func write(_ finding: Finding, to writer: inout JSON.Writer) {
        writer.beginObject()
        names.write(finding.hash, to: &writer)
        if finding.state != .unknown {
            writer.name("event")
            writer.beginObject()
            writer.member("isInProgress", finding.state == .inProgress)
            if let known = finding.acknowledgement {
                writer.member("acknowledgedAt", known.at)
                if let time = known.repliedAt { writer.member("repliedAt", time) }
                if let time = known.resultAt { writer.member("resultAt", time) }
            }
            writer.endObject()
        }
        let responded = Dictionary(
            finding.responded.compactMap { push in push.pushID.map { ($0.lowercased(), push) } }
        ) { $1 }
        let waiting = Dictionary(finding.waiting.map { ($0.id.lowercased(), $0) }) { $1 }
        let ended = Dictionary(finding.ended.map { ($0.id.lowercased(), $0) }) { $1 }
        // Pushes without an ID were never made: they were muted, or refused beforehand.
        let unmade = finding.responded.filter { $0.pushID == nil }
        let ids = Set(responded.keys).union(waiting.keys).union(ended.keys)
        writer.list("pushes", ids.sorted(by: >)) { id, writer in
            writer.member("id", id)
            if let made = UUIDv7(id) { writer.member("receivedAt", made.milliseconds) }
            let known = (ended[id]?.deviceID ?? waiting[id]?.deviceID).flatMap { finding.devices[$0] }
            if let device = known?.maskedToken ?? responded[id]?.device { writer.member("device", device) }
            if let push = responded[id] { write(push, to: &writer) }
            if let push = waiting[id] {
                writer.name("waiting")
                writer.beginObject()
                writer.write(push)
                writer.endObject()
            }
            if let row = ended[id] {
                writer.name("ended")
                writer.beginObject()
                writer.write(row, on: finding.devices)
                writer.endObject()
            }
        }
        writer.list("unmade", unmade) { push, writer in
            writer.member("device", push.device)
            write(push, to: &writer)
        }
        writer.endObject()
    }

    private func write(_ push: DispatchReport.Delivery, to writer: inout JSON.Writer) {
        let (status, reason): (String, String?) =
            switch push.status {
            case .sent: ("sent", nil)
            case .queued(let reason): ("queued", reason)
            case .failed(let reason): ("failed", reason)
            case .muted: ("muted", nil)
            }
        writer.member("response", status)
        if let reason { writer.member("responseReason", reason) }
        if push.removed { writer.member("isDeviceRemoved", true) }
    }
}
