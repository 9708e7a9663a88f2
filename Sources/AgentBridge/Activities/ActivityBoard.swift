import Network

/// Decides which session's state is sent to Live Activities, and when: a pure function of its own state and the time.
///
/// States to post aren't stored: each is created when it is due, from what is known at that time.
struct ActivityBoard: Sendable {
    struct Options: Sendable {
        /// The minimum interval between two states of the same session.
        let interval: Duration
        /// Whether states contain text or only the status.
        let hasTexts: Bool
    }

    /// The next action.
    enum Job: Sendable, Equatable {
        /// Read the session's title and last messages; answered by ``ActivityBoard/read(_:_:)``.
        case read(SessionID, Work)
        /// Post a state; answered by ``ActivityBoard/finish(_:_:_:)``.
        case post(SessionID, isStart: Bool, ContentState)
    }

    private struct Card: Sendable {
        var work: Work
        var title = ""
        var text = ""
        var tool: String?
        /// When the session's next state is due.
        var dueAt: MonotonicTime
        /// Whether the session has been read for the state that is due.
        var isRead = false
        var posted: ContentState?
        var postedAt: MonotonicTime?
        /// Whether the relay has accepted the activity's start.
        var isStarted = false
        /// When a notification ended the activity.
        var endedAt: MonotonicTime?
    }

    private let options: Options
    private var cards: [SessionID: Card] = [:]
    /// Nothing is posted before this time, because the relay couldn't accept a state.
    private var notBefore: MonotonicTime?

    init(_ options: Options) { self.options = options }

    /// Updates the set of running sessions.
    ///
    /// Returns the last states of sessions that stopped running without a notification that announced their end.
    mutating func update(_ works: [SessionID: Work], _ now: MonotonicTime) -> [SessionID: ContentState] {
        var ended: [SessionID: ContentState] = [:]
        for (session, card) in cards where works[session] == nil {
            if card.isStarted, card.endedAt == nil {
                ended[session] = state(card, as: .complete)
            }
            cards[session] = nil
        }
        for (session, work) in works.sorted(by: { $0.value.since < $1.value.since }) {
            // A notification ended the activity of an earlier run.
            if let ended = cards[session]?.endedAt, ended < work.since { cards[session] = nil }
            guard cards[session] == nil else {
                cards[session]?.work = work
                continue
            }
            guard cards.count < Bounds.activitiesMax else { continue }
            let wait = min(options.interval, Bounds.activityStartWait)
            cards[session] = Card(work: work, dueAt: work.since + wait)
        }
        return ended
    }

    /// Records that a notification is being sent, and returns the state to include in it.
    mutating func rang(_ ring: Ring, _ now: MonotonicTime) -> ContentState {
        let state = ContentState(ring, showing: cards[ring.session].map { self.state($0) })
        if ring.type != .permission { cards[ring.session]?.endedAt = now }
        return options.hasTexts ? state : state.withoutText
    }

    /// The next action that is due.
    mutating func next(_ now: MonotonicTime) -> Job? {
        if let notBefore, now < notBefore { return nil }
        let due = cards.filter { $0.value.endedAt == nil && $0.value.dueAt <= now }
        for (session, _) in due.sorted(by: { $0.value.dueAt < $1.value.dueAt }) {
            guard var card = cards[session] else { continue }
            defer { cards[session] = card }
            if options.hasTexts, !card.isRead {
                card.isRead = true
                return .read(session, card.work)
            }
            card.isRead = false
            card.dueAt = now + options.interval
            let state = state(card)
            let isFresh = card.postedAt.map { now.since($0) < Bounds.activityRefresh } ?? false
            guard !card.isStarted || state != card.posted || !isFresh else { continue }
            card.posted = state
            card.postedAt = now
            return .post(session, isStart: !card.isStarted, state)
        }
        return nil
    }

    /// Handles the result of reading a session; nil if reading failed.
    mutating func read(_ session: SessionID, _ reading: Reading?) {
        guard let reading else { return }
        cards[session]?.title = NotificationText.name(reading.title)
        cards[session]?.text = NotificationText.excerpt(
            reading.text.map(NotificationText.plain), bytes: Bounds.stateTextBytesMax)
        cards[session]?.tool = reading.tool.map {
            NotificationText.excerpt($0, bytes: Bounds.stateToolBytesMax)
        }
    }

    /// Records the relay's response to a post.
    ///
    /// Returns whether the session or its activity ended in the meantime, so that an activity just started must be
    /// ended.
    mutating func finish(_ session: SessionID, _ answer: RelayClient.Answer, _ now: MonotonicTime) -> Bool {
        switch answer {
        case .accepted:
            cards[session]?.isStarted = true
        case .later(_, let pause):
            notBefore = now + max(pause, options.interval)
            cards[session]?.posted = nil
        case .unreachable:
            notBefore = now + options.interval
            cards[session]?.posted = nil
        case .refused:
            notBefore = now + Bounds.activityRefusedPause
            cards[session]?.posted = nil
        }
        guard let card = cards[session] else { return true }
        return card.endedAt != nil
    }

    private func state(_ card: Card, as status: ContentState.Status? = nil) -> ContentState {
        var state = ContentState(status: status ?? card.work.status)
        guard options.hasTexts else { return state }
        state.title = card.title
        state.text = card.text
        state.todos = card.work.todos
        guard status == nil else { return state }
        state.retry = card.work.retry
        state.tool = card.tool
        return state
    }
}
