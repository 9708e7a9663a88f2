import HTTP2
import HTTPServer
import Network
import Programs

/// One client's connection: validates its pushes and answers them immediately or after a delay.
///
/// Confined to its loop.
final class PushConnection: ServerConnectionHandler {
    /// A push whose response is not due yet.
    private struct Pending {
        var record: PushRecord
        let stream: StreamID
        let action: Rule.Action
        /// The client's `apns-id`, if it is well-formed.
        let sentID: ArraySlice<UInt8>?
        let uniqueID: MessageID?
    }

    let environment: PushEnvironment
    private let server: PushServer
    private var connection: HTTP2ServerConnection?
    private(set) var id: UInt64 = 0
    private var trust = ConnectionTrust()
    private var pending: [StreamID: Pending] = [:]
    private var isPrimed = false
    private var isStalled = false
    /// The stream limit set by a command, which overrides the settings.
    private var ownStreamLimit: UInt32?
    private var highestAnswered = StreamID(rawValue: 0)
    private var pushes = 0
    private var openedAt: Int64 = 0

    init(environment: PushEnvironment, server: PushServer) {
        self.environment = environment
        self.server = server
    }

    // MARK: Commands

    func apply(_ command: ConnectionCommand) {
        switch command {
        case .goAway(let code, let debugData, let last): goAway(code, debugData, last)
        case .close: connection?.close()
        case .stall:
            isStalled = true
            connection?.stall()
        case .resume:
            isStalled = false
            connection?.resume()
        case .limitStreams(let limit):
            ownStreamLimit = limit
            tellStreamLimit()
        }
    }

    /// Sends the client the stream limit after the settings changed.
    func applyStreamLimit() {
        ownStreamLimit = nil
        tellStreamLimit()
    }

    private func tellStreamLimit() {
        let limit = isPrimed ? server.settings.streams : server.settings.initialStreams
        connection?.setMaxConcurrentStreams(ownStreamLimit ?? limit)
    }

    var info: ConnectionInfo {
        ConnectionInfo(
            id: id, environment: environment, remote: connection?.channel?.remoteAddress?.description ?? "?",
            openedAt: openedAt, pushes: pushes, openStreams: connection?.openStreamCount ?? 0,
            isPrimed: isPrimed,
            isStalled: isStalled, token: trust.token)
    }

    private func goAway(_ code: ErrorCode, _ debugData: [UInt8], _ last: ConnectionCommand.LastStream) {
        switch last {
        case .received: connection?.goAway(code, debugData: debugData)
        case .answered: connection?.goAway(code, lastStreamID: highestAnswered, debugData: debugData)
        case .number(let stream): connection?.goAway(code, lastStreamID: stream, debugData: debugData)
        }
    }

    // MARK: ServerConnectionHandler

    func connectionOpened(_ connection: HTTP2ServerConnection) {
        self.connection = connection
        openedAt = WallClock.system.now
        id = server.opened(self)
        if server.stallsNew.contains(environment) { apply(.stall) }
    }

    func connection(_ connection: HTTP2ServerConnection, event: ServerEvent) {
        switch event {
        case .request(let stream, let request): receive(PushRequest(request), on: stream)
        case .aborted(let stream, _): abandon(stream)
        case .settingsAcknowledged, .pingAcknowledged, .goAway: break
        }
    }

    func connectionClosed(_ connection: HTTP2ServerConnection, end: ConnectionEnd) {
        for stream in pending.keys.sorted() { abandon(stream) }
        server.closed(self)
        self.connection = nil
    }

    // MARK: Pushes

    private func receive(_ request: PushRequest, on stream: StreamID) {
        pushes += 1
        let now = WallClock.system.now
        let checked = check(request, now: now / 1_000 + (server.settings.clockOffset ?? 0))
        let clientID =
            switch checked {
            case .success(let push): push.id
            case .failure: request[.id].flatMap(MessageID.init(canonical:))
            }
        let decision = server.shared.withLock { $0.state.decide(checked, id: clientID, in: environment) }
        let record = PushRecord(
            receivedAt: now,
            push: .apns(
                APNsPush(
                    environment: environment, connection: id, stream: stream, request: request.kept,
                    uniqueID: decision.uniqueID)),
            id: decision.id, detail: decision.detail, rule: decision.rule, outcome: .abandoned)
        let push = Pending(
            record: record, stream: stream, action: decision.action,
            sentID: clientID == nil ? nil : request[.id], uniqueID: decision.uniqueID)
        guard decision.delay > .zero, decision.action != .stall else { return carryOut(push) }
        pending[stream] = push
        server.delay(stream, of: self, for: decision.delay)
    }

    private func check(_ request: PushRequest, now: Int64) -> Result<CheckedPush, PushRefusal> {
        do throws(PushRefusal) {
            return .success(
                try server.validator.check(
                    request, to: environment, now: now, trust: &trust, verifier: &server.verifier))
        } catch {
            return .failure(error)
        }
    }

    /// Answers on a stream whose delay has passed, unless the stream is closed.
    func due(_ stream: StreamID) {
        guard let push = pending.removeValue(forKey: stream) else { return }
        carryOut(push)
    }

    private func carryOut(_ push: consuming Pending) {
        let stream = push.stream
        switch push.action {
        case .pass: preconditionFailure("a decision never passes")
        case .answer(let answer):
            let isTaken = server.writer.write(
                answer, id: push.record.id, sentID: push.sentID, uniqueID: push.uniqueID,
                date: server.settings.clockOffset.map {
                    HTTPDate.text(unixTime: Int(WallClock.system.now / 1_000 + $0))
                }
            ) {
                connection?.respond(to: stream, $0, body: $1) ?? false
            }
            guard isTaken else { return seal(push, .abandoned) }
            highestAnswered = max(highestAnswered, stream)
            if answer.status == 200 { prime() }
            seal(push, .answered(status: answer.status, reason: answer.reason))
        case .stall: seal(push, .stalled)
        case .reset(let code):
            connection?.reset(stream, code)
            seal(push, .reset(code))
        case .close:
            seal(push, .closed)
            connection?.close()
        }
    }

    /// Raises the stream limit after the first success.
    private func prime() {
        guard !isPrimed else { return }
        isPrimed = true
        if server.settings.streams != server.settings.initialStreams { tellStreamLimit() }
    }

    private func abandon(_ stream: StreamID) {
        guard let push = pending.removeValue(forKey: stream) else { return }
        seal(push, .abandoned)
    }

    private func seal(_ push: consuming Pending, _ outcome: PushOutcome) {
        push.record.outcome = outcome
        let hasClientID = push.sentID != nil
        server.seal(push.record, hasClientID: hasClientID)
    }
}
