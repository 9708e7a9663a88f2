/// Every fixed limit of the bridge, with its unit in its name or type.
enum Bounds {
    // MARK: Rules (docs/design/bridge.md)

    /// How long a request may stay unanswered before it rings.
    static let requestWait: Duration = .seconds(15)
    /// The longest configurable wait before a request rings.
    static let requestWaitSecondsMax: Int64 = 3_600
    /// The longest time for `--quiet-while-active`.
    static let quietMinutesMax: Int64 = 24 * 60
    /// The pause before another attempt to read a request's state.
    static let requestRecheckPause: Duration = .seconds(5)
    /// Maximum attempts to read a request's state.
    static let requestChecksMax = 12
    /// The pause before a session without a title is read again: titles arrive within a second of the end.
    static let titlePause: Duration = .seconds(1)
    /// Maximum number of times that a session is read for its title.
    static let titleReadsMax = 3
    /// How long a tree of sessions must be quiet before a held `complete` rings.
    ///
    /// When a background agent ends, its parent starts again shortly after.
    static let quietGrace: Duration = .seconds(3)
    /// The longest time that a `complete` waits for descendants.
    static let holdMax: Duration = .seconds(3600)
    /// The longest chain of parents that is followed.
    static let ancestorsMax = 32

    // MARK: Memory

    /// Idle sessions beyond this number are forgotten.
    static let sessionsKept = 4_096
    /// How long an idle session is remembered when there are more than ``sessionsKept``.
    static let sessionMemory: Duration = .seconds(600)
    /// The pause between two rounds of forgetting sessions.
    static let prunePause: Duration = .seconds(10)
    /// Maximum known sessions; events of any others are ignored.
    static let sessionsMax = 20_000
    /// Maximum deleted sessions that are remembered, since events about them can still arrive.
    static let deletedSessionsMax = 256
    /// Maximum open requests; any others are ignored.
    static let requestsMax = 4_096
    /// How long a closed request is remembered, so that an older list can't reopen it.
    static let closedRequestMemory: Duration = .seconds(60)

    // MARK: Texts

    /// Maximum size of an identifier that the relay accepts.
    static let identifierBytesMax = 255
    /// Maximum words in a body.
    static let bodyWordsMax = 18
    /// Maximum characters (grapheme clusters) in a body.
    static let bodyCharactersMax = 140
    /// Maximum size of a body; a grapheme cluster itself has no size limit.
    static let bodyBytesMax = 1_024
    /// Maximum characters in a permission's or question's content: its end matters as much as its beginning.
    static let detailCharactersMax = 600
    /// How much of an agent's text is searched for markup.
    static let markdownCharactersMax = 4_096
    /// Maximum choices that are shown per question.
    static let choicesMax = 10
    /// Maximum characters in a title.
    static let titleCharactersMax = 200
    /// Maximum size of a title.
    static let titleBytesMax = 1_024

    // MARK: Streams

    /// Maximum size of a line of an event stream.
    static let streamLineBytesMax = 4 << 20
    /// Maximum size of an event's data; larger events are skipped.
    static let streamFrameBytesMax = 4 << 20

    /// How long the stream may be silent; OpenCode sends data every 10 to 15 seconds.
    static let streamSilenceMax: Duration = .seconds(45)
    /// The longest configurable ``streamSilenceMax``, in seconds.
    static let streamSilenceSecondsMax: Int64 = 3_600
    /// Maximum events that wait to be handled; if there are more, the stream is reconnected.
    static let streamEventsWaitingMax = 10_000
    /// The first pause before reconnecting; it doubles each time.
    static let reconnectPauseMin: Duration = .seconds(1)
    /// The longest pause before reconnecting.
    static let reconnectPauseMax: Duration = .seconds(30)
    /// How long a local server's port may be closed before its runs count as lost.
    static let serverGoneAfter: Duration = .seconds(30)
    /// How long a stream must last before the pause is reset to ``reconnectPauseMin``.
    static let streamLastedMin: Duration = .seconds(10)

    // MARK: Requests to the server

    /// Timeout of a request to the OpenCode server.
    static let serverDeadline: Duration = .seconds(10)
    /// Maximum size of a response from the OpenCode server.
    static let serverAnswerBytesMax = 8 << 20
    /// The pauses between attempts to read a session or a list of requests.
    static let serverRetryPauses: [Duration] = [.milliseconds(500), .seconds(2), .seconds(5)]
    /// Maximum concurrent requests to the OpenCode server.
    static let serverWorkers = 4
    /// How many of a session's last messages are read.
    static let messagesRead = 6
    /// How often the state is compared with the server's while anything is running.
    static let reconcileInterval: Duration = .seconds(60)
    /// Maximum directories whose state is queried (1.x), the most recently used ones; each query starts an instance.
    static let directoriesMax = 32
    /// Directories unused for longer than this are queried only if there are few others.
    static let directoryAgeMax: Duration = .seconds(7 * 24 * 3600)
    /// Directories unused for ``directoryAgeMax`` are queried only if there are fewer others than this.
    static let oldDirectoriesMax = 8
    /// Maximum sessions whose directories are read at the first connection (1.x).
    static let sessionsRead = 200
    /// Maximum running sessions whose open requests are queried after a connection (2.x).
    static let sessionsListedMax = 200
    /// Maximum idle sessions that are read after a gap, in which a run may have begun and ended (2.x).
    static let restedSessionsRead = 20
    /// Maximum sessions whose last durable event is remembered (2.x).
    static let positionsMax = 4_096
    /// How often time-dependent rules are evaluated.
    static let tickInterval: Duration = .milliseconds(500)

    // MARK: Queue

    /// Maximum events waiting for the relay; the oldest are dropped to make room.
    static let queueEventsMax = 1_000
    /// How long an event is worth delivering.
    static let eventAgeMax: Duration = .seconds(15 * 60)
    /// Maximum events posted at once, each from a different session.
    static let postsMax = 4
    /// The first pause before posting again; it doubles each time.
    static let postPauseMin: Duration = .seconds(1)
    /// The longest pause before posting again, even if the relay asks for more.
    static let postPauseMax: Duration = .seconds(60)
    /// Timeout of a request to the relay; exceeds the relay's own timeout for slow pushes.
    static let postDeadline: Duration = .seconds(60)
    /// Maximum size of a response from the relay.
    static let postAnswerBytesMax = 1 << 20
    /// How long a delivered event is remembered: as long as the relay remembers its `eventID`.
    static let doneMemory: Duration = .seconds(24 * 3600)
    /// Maximum delivered events that are remembered.
    static let doneMax = 4_096
    /// The size above which the queue's file is first rewritten without its old records.
    static let queueFileBytesRewritten = 1 << 20
    /// The size above which the file is set aside, because no bridge writes that much.
    static let queueFileBytesMax = 64 << 20
    /// Maximum size of a record; longer lines are skipped.
    static let queueRecordBytesMax = 64 << 10
    /// How often the file is checked for events from other processes.
    static let queuePollInterval: Duration = .milliseconds(500)
    /// How long another process may hold the queue's lock.
    static let queueLockDeadline: Duration = .seconds(2)
    /// How long a new owner of the queue waits for a process that only checks whether there is an owner.
    static let ownershipPatience: Duration = .seconds(1)
    /// Maximum size of the configuration file and of the secret's file.
    static let settingFileBytesMax = 64 << 10
    /// Maximum size of a secret that the relay accepts.
    static let secretBytesMax = 512

    // MARK: Replies

    /// How long a request makes the relay wait for a reply, in seconds; less than ``postDeadline``.
    static let replyWaitSeconds = 30
    /// Maximum requests whose replies are awaited at once: half of what the relay allows per secret.
    static let replyWaitsMax = 8
    /// The first pause before asking for a reply again after a failure; it doubles each time.
    static let replyPauseMin: Duration = .seconds(1)
    /// The longest pause before asking for a reply again; the relay can ask for more, up to ``postPauseMax``.
    static let replyPauseMax: Duration = .seconds(30)
    /// Maximum attempts to acknowledge an event; together they take longer than an event can be queued.
    static let acknowledgementsMax = 60
    /// Maximum attempts to give a reply to OpenCode.
    ///
    /// Together they take at least half a day, and less than the day after which the relay forgets the event and
    /// can't keep the reply's result.
    static let replyAttemptsMax = 1_800
    /// Maximum attempts to report a reply's result; together they take longer than an event can be queued.
    static let resultReportsMax = 60
    /// The longest time for `--repeat`, in minutes.
    static let repeatMinutesMax: Int64 = 15
    /// How long a permission keeps ringing, in seconds.
    static let repeatSecondsMax = 3_600
    /// Maximum size of the text that OpenCode gets with a rejection.
    static let replyTextBytesMax = 4_096

    // MARK: Live Activities

    /// The longest interval for `--live-activities`, in seconds.
    static let activitySecondsMax: Int64 = 600
    /// How long a run must last before an activity is started for it.
    static let activityStartWait: Duration = .seconds(5)
    /// Maximum sessions whose states are sent.
    static let activitiesMax = 16
    /// The age at which an unchanged state is resent: iOS marks it outdated after two minutes, as the relay requests.
    static let activityRefresh: Duration = .seconds(90)
    /// How long no states are sent after the relay has refused one, for instance because the relay is too old.
    static let activityRefusedPause: Duration = .seconds(600)
    /// Timeout of a request that posts a state.
    static let activityPostDeadline: Duration = .seconds(10)
    /// Maximum characters in a session's title in a state.
    static let stateTitleCharactersMax = 80
    /// Maximum size of a session's title in a state.
    static let stateTitleBytesMax = 256
    /// Maximum size of text in a state: even with JSON escapes, all of it fits within the relay's limit.
    static let stateTextBytesMax = 512
    /// Maximum size of a tool's name in a state.
    static let stateToolBytesMax = 64

    // MARK: Sealing and pairing

    /// Maximum length of an envelope: leaves room in APNs' 4,096 bytes for identifiers of any length.
    static let sealedCharactersMax = 2_434
    /// Maximum sizes of a title and of a body, tried in turn until the envelope fits.
    static let sealedTextBytesMax = [1_024, 512, 256, 64]
    /// Maximum size of a session's ID with which an envelope of any length fits into a push.
    static let sessionBytesUsual = 64
    /// Maximum sizes of the excerpt from a request that doesn't fit, tried in turn until the envelope fits.
    static let cutRequestBytesMax = [1_500, 1_000, 600, 200]
    /// Maximum addresses of the server in a pairing; more would make the code hard to scan.
    static let serverHostsMax = 6
    /// Timeout of the request that checks whether a server answers at an address.
    static let pairProbeDeadline: Duration = .seconds(2)

    // MARK: agent-bridge check

    /// How long `agent-bridge check` waits for the stream's first bytes.
    static let checkStreamDeadline: Duration = .seconds(20)
    /// Timeout of the requests from `agent-bridge check` to the relay.
    static let checkDeadline: Duration = .seconds(10)

    // MARK: agent-bridge outcomes

    /// How many hours `agent-bridge outcomes` looks back by default.
    static let outcomeHoursDefault = 24
    /// How many hours `agent-bridge outcomes` looks back at most: as long as a relay keeps its log by default.
    static let outcomeHoursMax = 30 * 24
    /// Outcomes per request: the relay's maximum.
    static let outcomesPerPage = 100
    /// Maximum requests for outcomes per command.
    static let outcomePagesMax = 50

    // MARK: agent-bridge hook

    /// Maximum size of a hook's input.
    static let hookInputBytesMax = 4 << 20
    /// How long an agent may take to pass the input to its hook.
    static let hookInputDeadline: Duration = .seconds(1)
    /// How many ends and errors of a session ring within ``hookFloodWindow``; permissions always ring.
    static let hookRingsMax = 20
    /// The period in which ``hookRingsMax`` applies.
    static let hookFloodWindow: Duration = .seconds(60)
    /// Maximum number of rings, and of prompts, that are remembered for later hooks.
    static let hookMemoriesMax = 512
    /// Maximum size of the file that remembers rings and prompts.
    static let hookFileBytesMax = 128 << 10
    /// How long an agent waits for its hooks: the default of Claude Code and Codex, which `install --answer` sets.
    static let agentTimeout: Duration = .seconds(600)
    /// How long a hook waits for a reply from the phone, at most: below ``agentTimeout``, so that it can withdraw the
    /// request in time.
    static let answerWaitMax: Duration = .seconds(590)
    /// How long a hook waits for a reply by default if the agent's terminal can't be used in the meantime.
    static let answerWait: Duration = .seconds(60)
    /// How recently someone must have typed to count as being at the desk, unless `--quiet-while-active` sets another
    /// time.
    static let deskTime: Duration = .seconds(120)
    /// How often a waiting hook checks whether its request is still open.
    static let answerCheckInterval: Duration = .seconds(1)
    /// How long a hook may take to withdraw its request or to report a reply's result.
    static let withdrawDeadline: Duration = .seconds(3)
    /// How long a waiting hook's process may keep running after its wait.
    static let answerProcessSecondsMore: Int64 = 8
    /// How much of a session's transcript is read.
    static let transcriptBytesMax = 4 << 20
    /// Maximum questions per request.
    static let questionsMax = 16
    /// Size of the decision file above which its older half is removed.
    static let decisionFileBytesMax = 256 << 10
    /// Maximum characters of a tool's name in the decision file.
    static let decisionToolCharactersMax = 64
    /// Longer runs of spaces or tabs in a request are shown as a count.
    static let shownSpacesMax = 40
    /// Longer runs of line breaks in a request are shown as a count.
    static let shownBreaksMax = 3
    /// The pause before the same hook fault is shown again.
    static let hookFaultPause: Duration = .seconds(600)
    /// Maximum size of the first line of a session's file, which says which client runs it.
    static let transcriptLineBytesMax = 512 << 10
    /// How many ancestors of a hook's process are checked.
    static let ancestorProcessesMax = 8
    /// Maximum size of a process's command line.
    static let processFileBytesMax = 4 << 20
    /// Maximum size of an agent's settings.
    static let agentSettingsBytesMax = 4 << 20
    /// Timeout of a hook's request to the relay.
    static let hookDeadline: Duration = .seconds(3)
    /// How long a hook's process may run before it is ended unconditionally.
    static let hookProcessSecondsMax = 6
}
