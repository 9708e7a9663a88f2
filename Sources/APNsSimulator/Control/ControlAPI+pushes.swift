import HTTPServer
import JSON
import Network

extension ControlAPI {
    private enum Form: String { case json, text }

    private struct Query {
        var cursor: UInt64 = 0
        var token: String?
        var subscription: String?
        var limit = ControlAPI.pushesDefault
        var wait = Duration.zero
        var form = Form.json
    }

    func getPushes(_ request: Request, on loop: isolated EventLoop) async -> Response {
        let query: Query
        do throws(ControlError) {
            query = try Self.query(request)
        } catch {
            return Self.problem(error)
        }
        let deadline = MonotonicTime.current + query.wait
        var page = page(after: query.cursor, query)
        var missed = page.missed
        while page.records.isEmpty, !Task.isCancelled {
            let left = deadline.since(.current)
            guard left > .zero else { break }
            await simulator.waitForPush(after: page.next, wait: left, on: loop)
            page = self.page(after: page.next, query)
            missed += page.missed
        }
        switch query.form {
        case .text:
            let offset = PushPrinter.utcOffset
            let text = page.records.map {
                PushCard.text($0, utcOffset: offset, keys: simulator.notificationKeys)
            }.joined()
            return Response(contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
        case .json:
            return Self.ok([
                "pushes": .array(page.records.map { $0.json(keys: simulator.notificationKeys) }),
                "next": .int(page.next),
                "more": .bool(page.hasMore),
                "missed": .int(missed),
            ])
        }
    }

    private func page(after cursor: UInt64, _ query: Query) -> PushLog.Page {
        simulator.shared.withLock { shared in
            shared.state.log.page(after: cursor, limit: query.limit) { record in
                (query.token == nil || record.deviceToken == query.token)
                    && (query.subscription == nil || record.webPush?.subscription == query.subscription)
            }
        }
    }

    private static func query(_ request: Request) throws(ControlError) -> Query {
        var query = Query()
        query.token = try token(in: request)
        query.subscription = request.queryValue("subscription")
        if let text = request.queryValue("since") {
            guard let cursor = UInt64(text) else {
                throw ControlError("`since` must be the number of a push")
            }
            query.cursor = cursor
        }
        if let text = request.queryValue("limit") {
            guard let limit = Int(text), (1...pushesMax).contains(limit) else {
                throw ControlError("`limit` must be a number from 1 to \(pushesMax)")
            }
            query.limit = limit
        }
        if let text = request.queryValue("wait") {
            guard let seconds = Double(text), (0...waitSecondsMax).contains(seconds) else {
                throw ControlError("`wait` must be from 0 to \(Int(waitSecondsMax)) seconds")
            }
            query.wait = .milliseconds(Int64(seconds * 1_000))
        }
        if let text = request.queryValue("format") {
            guard let form = Form(rawValue: text) else {
                throw ControlError("`format` must be json or text")
            }
            query.form = form
        }
        return query
    }
}
