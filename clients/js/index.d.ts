/** Bytes with a buffer of their own, as Web Crypto requires; `Uint8Array` before TypeScript 5.9. */
export type Bytes = ReturnType<Uint8ArrayConstructor["of"]>;

/** The primitives that the library is built on. Results may be values or promises. */
export interface Cryptography {
    /** Bytes from a cryptographic random number generator. */
    randomBytes(count: number): Uint8Array | Promise<Uint8Array>;
    /** HMAC-SHA-256: 32 bytes. */
    hmacSHA256(key: Bytes, data: Bytes): Uint8Array | Promise<Uint8Array>;
    /** AES-256-GCM with a nonce of 12 bytes: the ciphertext followed by the tag of 16 bytes. */
    sealAES256GCM(
        key: Bytes, nonce: Bytes, plaintext: Bytes, associatedData: Bytes,
    ): Uint8Array | Promise<Uint8Array>;
    /** The plaintext of a ciphertext followed by its tag. Throws or rejects if it isn't authentic. */
    openAES256GCM(
        key: Bytes, nonce: Bytes, sealed: Bytes, associatedData: Bytes,
    ): Uint8Array | Promise<Uint8Array>;
}

/** Makes the library use these primitives. Needed only without Web Crypto (React Native), before any other call. */
export function setCryptography(cryptography: Cryptography): void;

/** Primitives based on a Web Crypto object: the global `crypto`, or a library with the same interface. */
export function webCryptography(crypto: { subtle: any; getRandomValues(array: any): any }): Cryptography;

/** A store for small strings that the app supplies, such as AsyncStorage. An empty string may be deleted. */
export interface Store {
    get(name: string): string | null | undefined | Promise<string | null | undefined>;
    set(name: string, value: string): unknown;
}

// Pairing

/** Everything derived from a pairing secret. Printing it doesn't show the secrets. */
export class PairingKeys {
    private constructor();
    /** Derives the keys from 32 bytes, or from their 43 characters of base64url. Throws a `TypeError`. */
    static derive(pairingSecret: Uint8Array | string): Promise<PairingKeys>;
    /** The keys of a new random pairing secret. */
    static generate(): Promise<PairingKeys>;
    /** The key ID in envelopes: 8 hexadecimal digits. */
    readonly id: string;
    /** The pairing secret in base64url. Store it only in the Keychain. */
    readonly pairingSecret: string;
    /** The `secret` of every request to the relay. */
    readonly relaySecret: string;
    /** The AES-256-GCM key of envelopes. */
    readonly notificationKey: Bytes;
    /** The AES-256-GCM key of sealed replies. */
    readonly replyKey: Bytes;
    /** The AES-256-GCM key of sealed results of replies. */
    readonly replyResultKey: Bytes;
    /** A `sessionID` that a sender can use so that the relay doesn't learn the real one. */
    privateSessionID(sessionID: string): Promise<string>;
}

export class Pairing {
    private constructor();
    /**
     * Reads a link with `pair=` or `payload=`, or its JSON. Throws a `PairingError`, even for a misspelt member: without its
     * key, a pairing would send readable text.
     */
    static parse(text: string): Promise<Pairing>;
    /** A new pairing with a random pairing secret, or with the given keys. */
    static make(pairing: {
        hosts: readonly string[]; relayURL?: string; serverID?: string; keys?: PairingKeys;
    }): Promise<Pairing>;
    /** Identifies the pairing in an app's storage; the same for the same relay and secret. Reveals nothing about the secrets. */
    readonly id: string;
    /** The `secret` of requests to the relay. */
    readonly relaySecret: string;
    /** The keys of sealed notifications; undefined if the link had none. */
    readonly keys: PairingKeys | undefined;
    /** Addresses of the OpenCode server, at least one. */
    readonly hosts: readonly string[];
    readonly serverID: string | undefined;
    /** The relay's base URL; undefined if the link has none. */
    readonly relayURL: string | undefined;
    /** The one-time code that logs a phone in to the OpenCode server, for five minutes; undefined if the link has none. It isn't in `json()`. */
    readonly code: string | undefined;
    /**
     * Where the code opens OpenCode, one address per host; empty without a code. The first request uses up the code: a
     * browser gets OpenCode's page; a client that doesn't accept `text/html` gets `{"token"}`, a password for OpenCode's API.
     */
    readonly connectURLs: readonly string[];
    /** The JSON in the link, without the code. It contains the secrets. */
    json(): string;
    /** The link for a QR code. It contains the secrets. The default scheme is `mobilevoice`. */
    link(scheme?: string): string;
}

export class PairingError extends Error {
    private constructor();
    readonly reason: "notPairing" | "unsupportedVersion" | "invalid" | "secretMismatch";
    /** The member at fault. */
    readonly field?: string;
}

// Sealed notifications

/** The text that only the phone can read. `title` and `body` must not both be empty. */
export interface SealedContent {
    title?: string;
    body?: string;
    sessionID?: string;
    serverID?: string;
    /** The request's `eventID`, unique per key. At most 128 bytes. */
    eventID: string;
    /** Seconds since 1970. */
    sentAt: number;
    /** How many seconds the text stays current; a day if absent. */
    ttl?: number;
    /** Further properties, named as in the `notification` of `/v1/notify`. Their values aren't checked. */
    notification?: {
        subtitle?: unknown; category?: unknown; actions?: unknown; threadID?: unknown; sound?: unknown; badge?: unknown;
        interruptionLevel?: unknown; [member: string]: unknown;
    };
    /** What the sender asks a person to decide. */
    request?: SealedRequest;
}

/** What the sender asks a person to decide. `notification.actions` lists the possible replies other than `answer`. */
export interface SealedRequest {
    /** When the sender stops waiting, in seconds since 1970. Offer no reply after that. */
    end?: number;
    /** Whether `body` shows only part of the request. If so, don't offer to allow it. */
    isCut?: boolean;
    /** Questions, all answered by one reply with the action `answer`. Empty in opened content if any of them isn't valid. */
    questions?: SealedQuestion[];
}

/** A question; without options, it needs `allowsText`. */
export interface SealedQuestion {
    text: string;
    heading?: string;
    /** Labels must be unique within the question. */
    options?: { label: string; detail?: string }[];
    /** Whether several options can be chosen. */
    isMultiple?: boolean;
    /** Whether a person can write an answer of their own, even in addition to chosen options. */
    allowsText?: boolean;
    /** Whether the question can be left unanswered. */
    isOptional?: boolean;
}

export const Envelope: {
    /**
     * Seals content; returns the value of the request's member `sealed`.
     *
     * `type` is the event's `eventType`, or the notification's `kind`, or `notify` if it has none. If absent, `eventID` is
     * random and `sentAt` is now. Throws an `EnvelopeError`: `badContent`, `tooLarge`.
     */
    seal(envelope: {
        keys: PairingKeys; type: string; content: Omit<SealedContent, "eventID" | "sentAt"> & Partial<SealedContent>;
    }): Promise<string>;
    /**
     * Opens a sealed string with one of the keys. If it throws an `EnvelopeError`, show the push's visible text.
     *
     * Doesn't detect replays; see `Replay`.
     */
    open(envelope: {
        keys: PairingKeys | readonly PairingKeys[]; type: string; sealed: string;
    }): Promise<{ content: SealedContent; keys: PairingKeys }>;
};

/** Replies that only the sender can read. */
export const SealedReply: {
    /**
     * Seals a reply; returns `sealed` for `Relay.reply`. `sentAt` is now if absent. Throws an `EnvelopeError`.
     *
     * With the action `answer`, `answers` has an array for each question: labels of options, then at most one answer of the person's own.
     */
    seal(reply: {
        keys: PairingKeys; eventID: string; action: string; text?: string; answers?: string[][]; sentAt?: number;
    }): Promise<string>;
    /**
     * Opens the reply to an event. Throws an `EnvelopeError`. The sender must accept only one reply per event, and check `answers`
     * against its questions.
     */
    open(reply: { keys: PairingKeys | readonly PairingKeys[]; eventID: string; sealed: string }): Promise<{
        action: string; text?: string; answers?: string[][]; sentAt: number; keys: PairingKeys;
    }>;
};

/** The outcome of a reply; later senders may report others. */
export type ReplyOutcome = "taken" | "answered_elsewhere" | "too_late" | "refused" | "not_delivered" | (string & {});

/** Results of sealed replies, which the relay can't forge. */
export const SealedResult: {
    /**
     * Seals the result of a sealed reply; returns `sealed` for `/v1/reply/result`. Without `reply`, only `answered_elsewhere` and
     * `too_late` are possible. Throws an `EnvelopeError`.
     */
    seal(result: {
        keys: PairingKeys; eventID: string; reply?: string; outcome: ReplyOutcome; reason?: string; sentAt?: number;
    }): Promise<string>;
    /**
     * Opens a result. `reply` is the sealed reply that this phone sent, if any. Throws an `EnvelopeError`, even for the
     * result of another reply.
     */
    open(result: {
        keys: PairingKeys | readonly PairingKeys[]; eventID: string; reply?: string; sealed: string;
    }): Promise<{ outcome: ReplyOutcome; reason?: string; sentAt: number; keys: PairingKeys }>;
};

export class EnvelopeError extends Error {
    private constructor();
    readonly reason:
        | "malformed" | "unsupportedVersion" | "unknownKey" | "notAuthentic" | "badPadding" | "badContent" | "tooLarge";
}

/** Recognises envelopes that were shown before or are out of date. */
export class Replay {
    /** `store` keeps at most about 30 KB per key. `now` returns seconds since 1970. */
    constructor(store: Store, options?: { now?: () => number });
    /** Returns `fresh` and remembers the content, or returns why it must not be shown. */
    check(opened: { content: SealedContent; keys: PairingKeys }): Promise<"fresh" | "stale" | "repeated">;
}

/** What a push contains besides its text. */
export class PushPayload {
    private constructor();
    /** Reads a full payload, or only the `data` or `body` of an event. Returns undefined if it is neither. */
    static read(payload: unknown): PushPayload | undefined;
    /**
     * Reads a service worker's push event, or the JSON of a Web Push message. Returns undefined if it is neither; show some
     * general text in that case, since browsers end subscriptions whose pushes show nothing.
     */
    static fromWebPush(value: unknown): PushPayload | undefined;
    /** Reads a notification of expo-notifications, a response to one, or the `data` of a background task. */
    static fromExpo(value: unknown): PushPayload | undefined;
    /** The `type` for `Envelope.open`. */
    readonly type: string;
    readonly eventType: string | undefined;
    readonly kind: string | undefined;
    readonly sessionID: string | undefined;
    readonly serverID: string | undefined;
    /** The event's ID, for `Relay.acknowledge` and `Relay.reply`; a sealed event has it in its content. */
    readonly eventID: string | undefined;
    readonly sealed: string | undefined;
    /** The visible title. */
    readonly title: string | undefined;
    readonly subtitle: string | undefined;
    /** The visible text. */
    readonly body: string | undefined;
    /** Selects the app's buttons. */
    readonly category: string | undefined;
    readonly threadID: string | undefined;
    readonly interruptionLevel: string | undefined;
    /** The number for the app's icon. */
    readonly badge: number | undefined;
    /** Whether a Web Push notification makes no sound; false for APNs. */
    readonly isSilent: boolean;
    /** The values that the sender accepts as a reply's `action`; empty if it doesn't specify any. */
    readonly actions: readonly string[];
    /** The sender's own members of a notification (`notification.data`), unchecked; empty for events. */
    readonly data: Readonly<Record<string, unknown>>;
    /** The event whose notification the app is to remove. */
    readonly clear: { eventID: string } | undefined;
    /** A registration challenge, for `TokenKeeper.answer`. */
    readonly challenge: { id: string; code: string } | undefined;
}

// Web Push

/** The member `webPush` of a registration. UnifiedPush's connector gives an app `endpoint` and `keys`. */
export interface WebPushMembers {
    endpoint: string;
    /** In base64url: an uncompressed P-256 point, and 16 bytes. */
    keys: { p256dh: string; auth: string };
    /** The address that a tap on the notification opens. With it, messages are declarative, so Safari shows them by itself. */
    page?: string;
}

/** The part of a browser's `PushSubscription` that the library uses. */
export interface PushSubscriptionLike {
    readonly endpoint: string;
    readonly options?: { readonly applicationServerKey?: ArrayBuffer | null };
    toJSON(): { endpoint?: string; keys?: Record<string, string> };
}

export const WebPush: {
    /** The member `webPush` of a registration. Leaves out `page`'s fragment. Throws a `TypeError` if it isn't a subscription. */
    members(subscription: WebPushMembers | PushSubscriptionLike, options?: { page?: string }): WebPushMembers;
    /** Whether a browser's subscription was made with a relay's public key; true if the browser doesn't report the key. */
    hasKey(subscription: PushSubscriptionLike, publicKey: string): boolean;
    /**
     * Subscribes with a relay's public key, in place of an `old` subscription. Without an old subscription, call it
     * directly in a click. Throws a `TypeError` if `publicKey` isn't a key.
     */
    subscribe<Subscription>(
        pushManager: { subscribe(options: { userVisibleOnly: boolean; applicationServerKey: Bytes }): Promise<Subscription> },
        publicKey: string, old?: { unsubscribe(): Promise<unknown> } | null,
    ): Promise<Subscription>;
};

// The relay

export interface Preferences {
    /** Event types, and kinds of notifications, that the device wants; all if absent. */
    eventTypes?: string[];
    /** `unread`: the badge shows the number of unread items. */
    badge?: "unread";
    /** With the mode `later`, pushes wait until the quiet hours end; by default, they make no sound. */
    quietHours?: {
        from: string; to: string; timeZone: string; allowPermission?: boolean; mode?: "quiet" | "later";
    };
    /** The device's time zone for schedules, such as `Intl.DateTimeFormat().resolvedOptions().timeZone`. */
    timeZone?: string;
    /** The most pushes within an hour, 1 to 1,000; any number if absent. */
    perHour?: number;
    /** The most pushes within 24 hours, 1 to 1,000; any number if absent. */
    perDay?: number;
    /** Whether the push of a Live Activity that shows the session replaces the event's notification. */
    activityReplacesAlert?: boolean;
}

export interface DeviceDetails {
    bundleId?: string;
    apnsEnv?: "sandbox" | "production";
    deviceName?: string;
    deviceModel?: string;
    osVersion?: string;
    appVersion?: string;
    /** Identifies the installation; a new token with the same ID replaces the old one. */
    deviceID?: string;
    preferences?: Preferences;
    /** Versions of sealed notifications that the app can open: `[1]`. */
    sealed?: number[];
    /** The token that starts Live Activities; needs `attributesType`. Null if iOS hasn't provided it yet, empty to remove it. */
    pushToStartToken?: string | Uint8Array | null;
    /** The token that reloads widgets. Null if iOS hasn't provided it yet, empty to remove it. */
    widgetPushToken?: string | Uint8Array | null;
    /** The token that reloads controls. Null if iOS hasn't provided it yet, empty to remove it. */
    controlPushToken?: string | Uint8Array | null;
    /** The name of the app's `ActivityAttributes` type. */
    attributesType?: string;
}

/** An APNs or Web Push device. `bundleId`, `apnsEnv` and the tokens for activities and widgets don't apply to Web Push. */
export type Device = { deviceToken: string | Uint8Array; webPush?: undefined }
    | { webPush: WebPushMembers | PushSubscriptionLike; deviceToken?: undefined };

export interface RegisteredDevice
    extends Omit<DeviceDetails, "deviceID" | "pushToStartToken" | "widgetPushToken" | "controlPushToken"> {
    /** The end of the device token, or of the SHA-256 of the endpoint. */
    device: string;
    transport?: "apns" | "webpush";
    /** The push service's host; only for Web Push. */
    service?: string;
    createdAt: string;
    updatedAt: string;
    lastPush?: { at: string; eventType: string; status: string; reason?: string };
    /** Preferences that have no effect because the relay doesn't know their values. */
    ignored?: string[];
}

export interface PushResult {
    ok: true;
    sent: number;
    failed: number;
    queued?: number;
    muted?: number;
    /** The results of Live Activities, only for events with `contentState`. `held` activities get the state later. */
    activities?: { sent: number; failed: number; queued: number; held: number };
    deliveries?: {
        device: string; status: "sent" | "failed" | "queued" | "muted" | "held"; apnsID?: string; reason?: string;
        removed?: boolean; activity?: boolean;
    }[];
}

/** The result of one event in a batch; its status is 202 if the event was `async`. */
export type EventResult = { eventID: string } & (
    | (PushResult & { status: 200 })
    | { ok: true; status: 202 }
    | { ok: false; status: number; error: string; code: string; field?: string; retryAfter?: number }
);

/** An agent's last request (`/mcp`). */
export interface Agent {
    usedAt: string;
    /** `connected`: less than 60 seconds ago. `recent`: less than 5 minutes ago. `idle`: earlier. */
    status: "connected" | "recent" | "idle";
    /** What the agent calls itself. */
    client?: string;
}

/** Stores an event or a notification instead of waiting for its results. */
export interface Async {
    async: true;
    repeat?: undefined;
}

export interface RelayEvent {
    /** `start`, `progress` and `end` only concern Live Activities, and need `contentState`. */
    eventType: "complete" | "permission" | "error" | "start" | "progress" | "end";
    sessionID: string;
    serverID?: string;
    title?: string;
    body?: string;
    /** Makes a repetition safe; random if absent. */
    eventID?: string;
    /** From `Envelope.seal`; excludes `title` and `body`. */
    sealed?: string;
    category?: string;
    mutableContent?: boolean;
    /** The state for the session's Live Activities, which the relay and Apple can read; docs/guide/live-activities.md. */
    contentState?: Record<string, unknown>;
    /** The attributes of a Live Activity that is started. */
    attributes?: Record<string, unknown>;
    /** Only for permissions: rings again until the event is acknowledged or replied to. */
    repeat?: Repeat;
    /** The actions that a reply may choose, 1 to 10 names; any action if absent. */
    actions?: readonly string[];
}

/** `every`: seconds between pushes (60 to 900). `for`: seconds within which the last push is sent (at most 10,800). */
export interface Repeat {
    every: number;
    for: number;
}

/** A notification; docs/reference/api.md says which members go together. */
export interface RelayNotification {
    /** `widgets` and `controls` reload the app's widgets and controls, and carry no text. */
    pushType?: "alert" | "background" | "widgets" | "controls";
    title?: string;
    subtitle?: string;
    body?: string;
    badge?: number | "unread";
    sound?: string | { name: string; critical?: boolean; volume?: number };
    category?: string;
    threadID?: string;
    collapseID?: string;
    interruptionLevel?: "passive" | "active" | "time-sensitive" | "critical";
    relevanceScore?: number;
    priority?: 10 | 5 | 1;
    ttl?: number;
    mutableContent?: boolean;
    contentAvailable?: boolean;
    data?: Record<string, unknown>;
    kind?: string;
    /** The actions that a reply may choose, 1 to 10 names; any action if absent. */
    actions?: readonly string[];
}

/** When a schedule recurs; docs/guide/schedules.md says which members a unit has. */
export interface Recurrence {
    unit: "hour" | "day" | "week" | "month";
    interval?: number;
    /** Times of day, such as `08:00`. */
    at?: string[];
    on?: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[] | number[];
    /** A name such as `Europe/Berlin`, or `device` for each device's own time zone. */
    timeZone?: string;
    /** RFC 3339 with an offset. */
    until?: string;
}

/** A notification or an event to send later, with one of `at`, `in` and `every`. */
export type NewSchedule = (
    | { notification: RelayNotification; sealed?: string; shorten?: boolean }
    | (Omit<RelayEvent, "eventType" | "eventID" | "repeat" | "contentState" | "attributes">
        & { eventType: "complete" | "permission" | "error" })
) & (
    /** RFC 3339 with an offset. */
    { at: string } | /** Seconds. */ { in: number } | { every: Recurrence }
) & {
    /** Replaces a schedule with the same name; random if absent. */
    name?: string;
    /** Seconds within which a missed occurrence is still sent. */
    lateBy?: number;
    /** Seconds over which occurrences are spread. */
    window?: number;
    /** The only device to push to. */
    deviceToken?: string | Uint8Array;
};

export interface Schedule {
    id: string;
    name?: string;
    createdAt: string;
    nextAt: string;
    every?: Recurrence;
    lastAt?: string;
    lastOutcome?: string;
    skipped: number;
}

/** An access token in a list. */
export interface AccessToken {
    tokenID: string;
    name: string;
    scope: "send" | "read" | "reply";
    createdAt: string;
    expiresAt?: string;
    /** Accurate to a minute. */
    usedAt?: string;
}

export interface HistoryItem {
    id: string;
    createdAt: string;
    readAt?: string;
    acknowledgedAt?: string;
    /** Also the type for `Envelope.open`. */
    eventType: string;
    sessionID?: string;
    serverID?: string;
    eventID?: string;
    title?: string;
    body?: string;
    sealed?: string;
    /** The result of the reply, for a day after the event. */
    result?: ReplyResult;
}

/** `sealed` is for `SealedReply.open`. */
export interface EventReply {
    at: string;
    action?: string;
    text?: string;
    sealed?: string;
}

/** The result of a reply: an outcome, or `sealed` for `SealedResult.open`. */
export interface ReplyResult {
    at: string;
    outcome?: ReplyOutcome;
    /** A machine-readable reason, in one word. */
    reason?: string;
    sealed?: string;
}

/** An outcome: a push ended, or an event was acknowledged or replied to. */
export type Outcome =
    | {
        type: "push"; at: string; status: "sent" | "failed"; reason?: string;
        /** As in the response to the event; absent if nothing was sent. */
        apnsID?: string;
        device?: string;
        /** Whether the device is no longer registered. */
        removed?: boolean;
        /** The event ID with which the push is acknowledged, if it has one. */
        eventID?: string;
        eventType: string; sessionID?: string;
    }
    | { type: "acknowledgement"; at: string; eventID: string }
    | ({ type: "reply"; eventID: string } & EventReply);

export interface RequestOptions {
    /** Ends the request with a `RelayError` of kind `aborted`. */
    signal?: AbortSignal;
}

export interface NotifyOptions {
    /** The only device to push to. */
    deviceToken?: string | Uint8Array;
    /** From `Envelope.seal`. */
    sealed?: string;
    /** Makes a repetition safe; random if absent. */
    eventID?: string;
    /** With `false`, text that doesn't fit is refused instead of shortened. */
    shorten?: boolean;
}

export interface RelayOptions {
    /** The value of `RELAY_REGISTRATION_KEY`, if the relay requires it. */
    registrationKey?: string;
    /** Sends the secret as `Authorization: Bearer`. Relays too old to support this refuse the requests. */
    secretInHeader?: boolean;
    /** Milliseconds for a call including its retries; 30,000 by default. */
    deadline?: number;
    /** Maximum attempts per call; 5 by default. */
    attempts?: number;
    /** The `traceparent` of each request, such as the active span's; `undefined` for none. */
    traceparent?: () => string | undefined;
    fetch?: (url: string, request: any) => Promise<any>;
    /** The time of any clock, in milliseconds. */
    now?: () => number;
    /** Waits for the given milliseconds, or until the signal aborts. */
    sleep?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
    /** A number from 0 to 1. */
    random?: () => number;
}

/** The API of one relay for one secret. Every call throws a `RelayError` if it fails. */
export class Relay {
    constructor(options: { url: string; secret: string } & RelayOptions);
    /** The relay and secret of a pairing. Throws a `TypeError` if neither the pairing nor `options` has the relay's URL. */
    static of(pairing: Pairing, options?: RelayOptions & { url?: string }): Relay;
    /** The relay's public key, which subscriptions belong to. Fails with the code `webpush_off` if the relay doesn't use Web Push. */
    webPushKey(options?: RequestOptions): Promise<{ publicKey: string; keyID: string }>;
    /**
     * Registers a device, or updates the members that are present, such as `preferences`. `ignored` lists the members that
     * the relay left out, such as a time zone that it doesn't know.
     */
    register(
        device: DeviceDetails & Device & { challengeCode?: string }, options?: RequestOptions,
    ): Promise<{ registered: true; ignored?: string[] } | { registered: false; challengeID: string; expiresIn: number }>;
    /** Removes a device; also succeeds if it wasn't registered. */
    unregister(
        device: string | Uint8Array | { webPush: { readonly endpoint: string } }, options?: RequestOptions,
    ): Promise<void>;
    /** Registers a session's Live Activity. Call it for each token that the activity gets, with the device's token. */
    registerActivity(
        activity: {
            sessionID: string; activityToken: string | Uint8Array; deviceToken?: string | Uint8Array;
            bundleId?: string; apnsEnv?: "sandbox" | "production";
        },
        options?: RequestOptions,
    ): Promise<void>;
    /** Removes a session's Live Activities, or one of them; also succeeds if there is none. */
    unregisterActivity(
        sessionID: string, options?: RequestOptions & { activityToken?: string | Uint8Array },
    ): Promise<void>;
    /** The secret's devices, oldest first. */
    devices(options?: RequestOptions): Promise<RegisteredDevice[]>;
    /** The last request of an agent with this secret. */
    agent(options?: RequestOptions): Promise<Agent | undefined>;
    /** Pushes an event to all devices of the secret. With `async: true`, it is only stored, and there are no results. */
    event(event: RelayEvent & Async, options?: RequestOptions): Promise<{ ok: true }>;
    event(event: RelayEvent & { async?: false }, options?: RequestOptions): Promise<PushResult>;
    /**
     * Pushes up to 100 events at once, and returns a result for each, in order. Resend events with status 429 or 5xx,
     * with the same `eventID`, after `retryAfter` seconds.
     */
    events(events: readonly (RelayEvent & { async?: boolean })[], options?: RequestOptions): Promise<EventResult[]>;
    /** Pushes a notification to all devices of the secret, or to the one with `deviceToken`. */
    notify(notification: RelayNotification, options: RequestOptions & NotifyOptions & Async): Promise<{ ok: true }>;
    notify(
        notification: RelayNotification, options?: RequestOptions & NotifyOptions & { async?: false; repeat?: Repeat },
    ): Promise<PushResult>;
    /** What was sent, newest first, if the relay has a history. `before` is the previous page's `next`. */
    history(options?: RequestOptions & { before?: string; limit?: number }): Promise<{
        /** The number of unread items on all pages. */
        unread: number; items: HistoryItem[]; next: string | undefined;
    }>;
    /** Marks the items with these IDs (at most 100), or all items, as read. Returns how many are unread now. */
    readHistory(ids: readonly string[] | "all", options?: RequestOptions): Promise<number>;
    /**
     * Tells the sender of an event that somebody has seen it. With `clear`, all devices of the secret get a background push,
     * so that they remove the event's notification; see `PushPayload.clear`.
     */
    acknowledge(eventID: string, options?: RequestOptions & { clear?: boolean }): Promise<void>;
    /**
     * Reports that a person is looking at the app for the next `seconds` (at most 300; 0 if no longer), so that completed runs
     * needn't ring. Repeat it while the app is visible. `deviceID` is the registration's.
     */
    reportPresence(seconds: number, options?: RequestOptions & { deviceID?: string }): Promise<void>;
    /** Replies to an event. Returns whether this is the event's reply; another reply may have come first. */
    reply(
        eventID: string, reply: { action: string; text?: string } | { sealed: string; action?: string },
        options?: RequestOptions,
    ): Promise<boolean>;
    /**
     * Sends a reply, or the same reply again, and returns its result; undefined if no result is reported within `timeout`
     * seconds (at most 50; 20 if absent). The call may take up to `deadline` plus `timeout`. Repeat it with the same reply.
     *
     * Throws a `RelayError` with the code `already_replied` if another reply came first.
     */
    replyResult(
        eventID: string, reply: { action: string; text?: string } | { sealed: string; action?: string },
        options?: RequestOptions & { timeout?: number },
    ): Promise<ReplyResult | undefined>;
    /**
     * What is known of an event. Waits up to `timeout` seconds (at most 50; 20 if absent) for a reply. The call may take up
     * to `deadline` plus `timeout`.
     */
    waitForReply(eventID: string, options?: RequestOptions & { timeout?: number }): Promise<{
        acknowledgedAt: string | undefined; reply: EventReply | undefined; result: ReplyResult | undefined;
    }>;
    /** Reports the result of the reply to an event, for senders. Returns the first result that was reported. */
    reportResult(
        eventID: string, result: { outcome: ReplyOutcome; reason?: string } | { sealed: string },
        options?: RequestOptions,
    ): Promise<ReplyResult>;
    /**
     * The outcomes of what the secret sent, oldest first, a few seconds after they happen. Waits up to `timeout` seconds (at
     * most 50) for the first. The call may take up to `deadline` plus `timeout`.
     *
     * `cursor` is the previous page's; `since` is the time of the first outcome, in RFC 3339.
     */
    outcomes(
        options?: RequestOptions & ({ cursor?: string; since?: never } | { since: string; cursor?: never }) & {
            limit?: number; timeout?: number;
        },
    ): Promise<{ outcomes: Outcome[]; cursor: string }>;
    /** Sends a notification or an event later, once or repeatedly. */
    schedule(schedule: NewSchedule, options?: RequestOptions): Promise<{ id: string; nextAt: string }>;
    /** The schedules, next due first, without their text. */
    schedules(options?: RequestOptions): Promise<Schedule[]>;
    /** Cancels a schedule. Returns whether there was one. */
    cancelSchedule(schedule: { id: string } | { name: string }, options?: RequestOptions): Promise<boolean>;
    /** Creates an access token, which the relay never shows again. */
    createToken(
        token: { scope: AccessToken["scope"]; name: string; expiresAt?: string }, options?: RequestOptions,
    ): Promise<{ token: string; tokenID: string }>;
    /** The access tokens, oldest first, without the token strings. */
    tokens(options?: RequestOptions): Promise<AccessToken[]>;
    /** Revokes an access token. Returns whether there was one. */
    revokeToken(tokenID: string, options?: RequestOptions): Promise<boolean>;
    /** Sends a test push, whose text says that pushes arrive. */
    testPush(options?: RequestOptions & { deviceToken?: string | Uint8Array }): Promise<PushResult>;
}

export class RelayError extends Error {
    private constructor();
    /** With `unreachable` and `timeout`, the request may have been carried out. */
    readonly kind: "refused" | "unreachable" | "timeout" | "redirected" | "tls" | "aborted" | "unexpectedAnswer";
    /** The HTTP status. */
    readonly status?: number;
    /** One of the codes in docs/reference/api.md, if the relay gave one. */
    readonly code?: string;
    /** The request's field at fault. */
    readonly field?: string;
    /** The request's ID, which is also in the relay's log. */
    readonly requestID?: string;
    /** Seconds after which the request can be repeated. */
    readonly retryAfter?: number;
    /** Whether the same request can succeed later. */
    readonly isTemporary: boolean;
}

/** Keeps the device registered with the relay of each pairing. */
export class TokenKeeper {
    constructor(options: {
        /** Keeps a small string per pairing. It contains device tokens or endpoints, but no secrets. */
        store: Store;
        /** In the Keychain: keeps the relay secrets of up to 8 pairings that `forget` couldn't unregister yet. */
        secrets: Store;
        /** Further members of the registration. `sealed` is left out for pairings without keys. */
        details?: DeviceDetails | ((pairing: Pairing) => DeviceDetails);
        /** The relay of a pairing; `Relay.of` if absent. */
        relay?: (pairing: Pairing) => Relay;
        /** Milliseconds since 1970. */
        now?: () => number;
    });
    /**
     * Registers the device for all pairings and then unregisters its earlier tokens and endpoints. Also unregisters
     * forgotten pairings that aren't in `pairings`. The next call retries what failed.
     *
     * Throws only a `TypeError`, if the device isn't valid.
     */
    sync(pairings: readonly Pairing[], device: string | Uint8Array | SubscribedDevice): Promise<SyncResult[]>;
    /** Completes the registration that a challenge push belongs to; undefined if no such registration is waiting. */
    answer(challenge: { id: string; code: string }): Promise<SyncResult | undefined>;
    /**
     * Unregisters every token and endpoint of a pairing. Remove it from the app's pairings first, or else `sync` registers it again.
     *
     * Returns true, or false if the relay can't do it now: `sync` calls then try again for 30 days. Throws a `RelayError`
     * if 8 other pairings are already waiting; call it again later.
     */
    forget(pairing: Pairing): Promise<boolean>;
}

/** A device that uses Web Push. */
export interface SubscribedDevice {
    subscription: WebPushMembers | PushSubscriptionLike;
    /** The address that a tap on the notification opens. */
    page?: string;
    /** The relay's public key that the subscription was made with; by default, the key that the browser reports. */
    publicKey?: string;
}

export interface SyncResult {
    pairing: Pairing;
    /** `otherKey`: the subscription was made with a key other than the relay's, `publicKey`. Subscribe with `publicKey` and sync again. */
    status: "registered" | "challenged" | "failed" | "otherKey";
    publicKey?: string;
    /** Why it failed. */
    error?: unknown;
    /** The members that the relay left out. */
    ignored?: string[];
}

/**
 * Replaces expo-notifications' `getExpoPushTokenAsync`: registers the app's own device token with a relay, and returns a name
 * that servers send to with one of Expo's SDKs. The name stays the same as long as the relay has it.
 *
 * Call it each time the app starts and when the token changes. Returns undefined if the relay has sent a challenge; call it again with the
 * push's code as `challengeCode`. Throws a `RelayError` if it fails.
 */
export function expoPushToken(
    device: DeviceDetails & Device & { challengeCode?: string },
    options: RelayOptions & RequestOptions & {
        url: string;
        /** In the Keychain: keeps a secret and the name's token. */
        secrets: Store;
    },
): Promise<{ type: "expo"; data: string } | undefined>;
