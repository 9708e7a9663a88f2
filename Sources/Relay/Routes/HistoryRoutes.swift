import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A validated `POST /v1/history/list` request.
struct HistoryListRequest: PlainRequestBody {
    /// The last item of the previous page.
    let before: UUIDv7?
    let limit: Int

    init(_ fields: RequestFields) throws(APIError) {
        before = try fields.optional(.historyBefore) { $0.string.flatMap { UUIDv7($0) } }
        limit =
            try fields.integer(.historyLimit, in: 1...Bounds.historyPageItemsMax)
            ?? Bounds.historyPageItemsDefault
    }
}

/// `POST /v1/history/list`: lists sent items for anyone who knows the secret.
struct HistoryListRoute: TenantRoute {
    static let admission = Admission.reading
    static let scope: AccessTokenScope? = .read
    let services: LoopServices

    func precheck(_: Request) throws(APIError) { try services.requireHistory() }

    /// Reads a page of the history.
    func answer(
        _ wanted: HistoryListRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let shared = services.shared
        let key = tenant.key
        let page: HistoryPage
        let known: [EventName: Acknowledgement]
        do throws(StorageError) {
            // Reads one item more than is shown, to find out whether there is another page.
            page = try await shared.storage.history(of: key, before: wanted.before, limit: wanted.limit + 1)
            known = try await shared.storage.acknowledgements(
                of: page.acknowledgedEvents(of: key), at: shared.clock.now)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("items", min(page.items.count, wanted.limit)))
        try tenant.note(isKnown: !page.items.isEmpty)
        return Reply(
            body: page.body(limit: wanted.limit) { $0.eventID.flatMap { known[EventName($0, of: key)] } })
    }
}

extension LoopServices {
    /// Refuses requests if the relay keeps no history.
    fileprivate func requireHistory() throws(APIError) {
        guard shared.history != nil else { throw APIError(.historyOff) }
    }
}

extension HistoryPage {
    /// The events of the acknowledged items, the only ones that can have a result.
    fileprivate func acknowledgedEvents(of key: SecretKey) -> Set<EventName> {
        Set(
            items.compactMap { item in
                item.acknowledgedAt == nil ? nil : item.eventID.map { EventName($0, of: key) }
            })
    }

    /// The response body: as many items as fit into ``Bounds/historyPageBytesMax``, but at least one.
    ///
    /// - Parameter known: Returns the acknowledgement of an item's event, if there is one.
    fileprivate func body(limit: Int, known: (HistoryItem) -> Acknowledgement?) -> [UInt8] {
        var shown = items.prefix(limit)
        var bytes = 0
        if let end = shown.firstIndex(where: { item in
            let size = item.textBytes + (known(item)?.result?.sealed?.utf8.count ?? 0)
            defer { bytes += size }
            return bytes > 0 && bytes + size > Bounds.historyPageBytesMax
        }) {
            shown = shown[..<end]
        }
        var writer = JSON.Writer(capacity: 64 + 256 * shown.count)
        writer.beginObject()
        writer.member("ok", true)
        writer.member("unread", unread)
        writer.name("items")
        writer.beginArray()
        for item in shown { item.write(to: &writer, known: known(item)) }
        writer.endArray()
        if let last = shown.last, shown.count < items.count {
            writer.member("next", last.id.text)
        }
        writer.endObject()
        return writer.finish()
    }
}

extension HistoryItem {
    /// The size of the texts, which make up most of the item.
    fileprivate var textBytes: Int {
        [title, body, sealed, sessionID, serverID, eventID].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }

    fileprivate func write(to writer: inout JSON.Writer, known: Acknowledgement?) {
        writer.beginObject()
        writer.member("id", id.text)
        writer.member("createdAt", Timestamp(createdAt).text)
        if let readAt { writer.member("readAt", Timestamp(readAt).text) }
        if let acknowledgedAt { writer.member("acknowledgedAt", Timestamp(acknowledgedAt).text) }
        writer.member("eventType", eventType)
        if !sessionID.isEmpty { writer.member("sessionID", sessionID) }
        let texts: [(StaticString, String?)] = [
            ("serverID", serverID), ("eventID", eventID), ("title", title), ("body", body),
            ("sealed", sealed),
        ]
        for (name, text) in texts {
            if let text { writer.member(name, text) }
        }
        known?.writeResult(to: &writer)
        writer.endObject()
    }
}

/// A validated `POST /v1/history/read` request.
struct HistoryReadRequest: PlainRequestBody {
    /// The items that were read; `nil` for all.
    let ids: [UUIDv7]?

    init(_ fields: RequestFields) throws(APIError) {
        ids = try fields.optional(.historyIDs) { value in
            guard let elements = value.array, (1...Bounds.historyReadIDsMax).contains(elements.count) else {
                return nil
            }
            let ids = elements.compactMap { $0.string.flatMap { UUIDv7($0) } }
            return ids.count == elements.count ? ids : nil
        }
        let isAll = try fields.optional(.historyAll) { $0.bool == true ? true : nil } ?? false
        switch (ids, isAll) {
        case (nil, false): throw APIError(.missingField, field: .historyIDs)
        case (_?, true): throw APIError(.invalidField, field: .historyAll, hint: "Send ids or all, not both.")
        case (_?, false), (nil, true): break
        }
    }
}

/// `POST /v1/history/read`: marks a secret's history items as read for all of its devices.
struct HistoryReadRoute: TenantRoute {
    static let admission = Admission.reading
    let services: LoopServices

    func precheck(_: Request) throws(APIError) { try services.requireHistory() }

    /// Marks the items and returns how many are still unread.
    func answer(
        _ wanted: HistoryReadRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let shared = services.shared
        let reading: HistoryReading
        do throws(StorageError) {
            reading = try await shared.storage.markRead(wanted.ids, of: tenant.key, at: shared.clock.now)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("read", reading.read))
        try tenant.note(isKnown: reading != HistoryReading())
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("read", reading.read)
        writer.member("unread", reading.unread)
        writer.endObject()
        return Reply(body: writer.finish())
    }
}
