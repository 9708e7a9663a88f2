import { encodeHex } from "./bytes.js";
import { cryptography } from "./cryptography.js";
import { deviceTokenText, optionalTokenText } from "./device-token.js";
import { checkMembers, checkRequest } from "./members.js";
import { Requests } from "./requests.js";
import { requestPublicKey, WebPush } from "./web-push.js";

/** The HTTP API of one relay for one secret (docs/reference/api.md). */
export class Relay {
    #requests;
    #secret;
    #registrationKey;
    #secretInHeader;

    constructor({ url, secret, registrationKey, secretInHeader = false, ...options }) {
        if (typeof secret !== "string" || secret === "") throw new TypeError("secret must not be empty");
        this.#requests = new Requests(url, options);
        this.#secret = secret;
        this.#registrationKey = registrationKey;
        this.#secretInHeader = secretInHeader;
    }

    /** The relay and secret of a pairing. */
    static of(pairing, options) {
        return new Relay({ url: pairing.relayURL, secret: pairing.relaySecret, ...options });
    }

    /** The public key for Web Push: `{ publicKey, keyID }`. Fails with the code `webpush_off` if the relay doesn't use Web Push. */
    webPushKey({ signal } = {}) {
        return requestPublicKey(this.#requests, { signal });
    }

    /**
     * Registers a device, or updates the members that are present, such as `preferences`. The device has a `deviceToken` or, with Web
     * Push, `webPush`: a subscription, or the result of `WebPush.members`.
     *
     * Returns `{ registered: true }`, with `ignored` if the relay left out members that it doesn't understand. If the
     * relay requires a challenge, returns `{ registered: false, challengeID, expiresIn }`; register again with the
     * `challengeCode` of the push.
     */
    async register(device, { signal, ...rest } = {}) {
        checkMembers(rest, [], "options");
        checkRequest("device", device);
        const { deviceToken, webPush } = device;
        if (webPush !== undefined && deviceToken !== undefined) throw new TypeError("a device has deviceToken or webPush, not both");
        const members = {
            ...device, ...(webPush === undefined ? { deviceToken: deviceTokenText(deviceToken) } : { webPush: WebPush.members(webPush) }),
        };
        for (const name of ["pushToStartToken", "widgetPushToken", "controlPushToken"]) {
            if (members[name] !== undefined) members[name] = optionalTokenText(members[name]);
        }
        const key = this.#registrationKey;
        const answer = await (key === undefined
            ? this.#post("/v1/device/register", members, signal)
            : this.#requests.post("/v1/device/register", { secret: this.#secret, ...members }, { bearer: key, signal }));
        if (answer.registered !== false) {
            return answer.ignored === undefined ? { registered: true } : { registered: true, ignored: answer.ignored };
        }
        return { registered: false, challengeID: answer.challengeID, expiresIn: answer.expiresIn };
    }

    /** Removes a device, by its token or by `{ webPush: { endpoint } }`; also succeeds if it wasn't registered. */
    async unregister(device, { signal } = {}) {
        const endpoint = device?.webPush?.endpoint;
        const members = endpoint ? { webPush: { endpoint } } : { deviceToken: deviceTokenText(device) };
        await this.#post("/v1/device/unregister", members, signal);
    }

    /** Registers a session's Live Activity. Call it for each token that the activity gets, with the device's token. */
    async registerActivity({ activityToken, deviceToken, ...activity }, { signal } = {}) {
        checkRequest("activity", activity);
        const device = deviceToken === undefined ? undefined : deviceTokenText(deviceToken);
        const members = { ...activity, activityToken: deviceTokenText(activityToken), deviceToken: device };
        await this.#post("/v1/activity/register", members, signal);
    }

    /** Removes a session's Live Activities, or the one with `activityToken`; also succeeds if there is none. */
    async unregisterActivity(sessionID, { activityToken, signal } = {}) {
        const token = activityToken === undefined ? undefined : deviceTokenText(activityToken);
        await this.#post("/v1/activity/unregister", { sessionID, activityToken: token }, signal);
    }

    /** The secret's devices, oldest first. */
    async devices({ signal } = {}) {
        return (await this.#post("/v1/device/list", {}, signal)).devices;
    }

    /** The last request of an agent with this secret, or undefined. */
    async agent({ signal } = {}) {
        return (await this.#post("/v1/device/list", {}, signal)).agent;
    }

    /**
     * Pushes an event to all devices of the secret.
     *
     * `eventID` is random if absent, so that a retry isn't a second event. `sealed` excludes `title` and `body`,
     * because a relay that doesn't know `sealed` would show them. With `async`, there are no results.
     */
    async event(event, { signal, ...rest } = {}) {
        checkMembers(rest, [], "options");
        return this.#post("/v1/event", await eventMembers(event), signal);
    }

    /**
     * Pushes up to 100 events at once. Returns a result for each, in order, with its `status` and `eventID`: what `event`
     * returns, or the error's `code`. Resend events with status 429 or 5xx, with the same `eventID`, after `retryAfter` seconds.
     */
    async events(events, { signal, ...rest } = {}) {
        checkMembers(rest, [], "options");
        const members = await Promise.all(events.map(eventMembers));
        const { results } = await this.#post("/v1/events", { events: members }, signal);
        return results.map((result, position) => ({ eventID: members[position].eventID, ...result }));
    }

    /** Pushes a notification to all devices of the secret, or to the one with `deviceToken`. */
    async notify(notification, { deviceToken, sealed, eventID, repeat, shorten, async, signal, ...rest } = {}) {
        checkMembers(rest, ["deviceToken", "sealed", "eventID", "repeat", "shorten", "async", "signal"], "options");
        checkRequest("notification", notification);
        checkRequest("repeat", repeat);
        const token = deviceToken === undefined ? undefined : deviceTokenText(deviceToken);
        const members = { notification, deviceToken: token, sealed, eventID, repeat, shorten, async };
        return this.#post("/v1/notify", await withEventID(members), signal);
    }

    /** Sends a test push, whose text says that pushes arrive. */
    testPush({ deviceToken, signal } = {}) {
        const notification = { title: "Test", body: "Notifications from this relay arrive.", sound: "default" };
        return this.notify(notification, { deviceToken, signal });
    }

    /**
     * What was sent, newest first: `{ unread, items, next }`. `before` is the previous page's `next`.
     *
     * To open an item's `sealed`, use its `eventType` as the type.
     */
    async history({ before, limit, signal } = {}) {
        const { unread, items, next } = await this.#post("/v1/history/list", { before, limit }, signal);
        return { unread, items, next };
    }

    /** Marks the items with these ids, at most 100, or `all`, as read. Returns how many are unread now. */
    async readHistory(ids, { signal } = {}) {
        const members = ids === "all" ? { all: true } : { ids };
        return (await this.#post("/v1/history/read", members, signal)).unread;
    }

    /**
     * Tells the sender of an event that somebody has seen it. With `clear` the relay also sends a background push, so that
     * the apps remove the event's notification (`PushPayload.clear`).
     */
    async acknowledge(eventID, { clear, signal, ...rest } = {}) {
        checkMembers(rest, ["clear", "signal"], "options");
        await this.#post("/v1/ack", { eventID, clear }, signal);
    }

    /**
     * Reports that a person is looking at the app for the next `seconds` (at most 300; 0 if no longer), so that completed runs
     * needn't ring. `deviceID` is the registration's.
     */
    async reportPresence(seconds, { deviceID, signal, ...rest } = {}) {
        checkMembers(rest, ["deviceID", "signal"], "options");
        await this.#post("/v1/presence", { seconds, deviceID }, signal);
    }

    /**
     * Replies to an event with `{ action, text }`, or with `{ sealed }` from `SealedReply.seal`.
     *
     * Returns whether this is the event's reply; another reply may have come first.
     */
    async reply(eventID, { action, text, sealed }, { signal } = {}) {
        if (sealed !== undefined && text !== undefined) throw new TypeError("a reply with sealed must have no text");
        try {
            await this.#post("/v1/reply", { eventID, action, text, sealed }, signal);
            return true;
        } catch (error) {
            if (error.code === "already_replied") return false;
            throw error;
        }
    }

    /**
     * Sends a reply as `reply` does, or sends the same reply again, and returns its result: `{ at, outcome, reason }`, or
     * `{ at, sealed }` for `SealedResult.open`. Returns undefined if no result is reported within `timeout` seconds.
     *
     * Repeat it with the same reply; for a sealed reply, with the same string. Throws a `RelayError` with the code
     * `already_replied` if another reply came first. The call may take up to `deadline` plus `timeout`.
     */
    async replyResult(eventID, { action, text, sealed }, { timeout = 20, signal, ...rest } = {}) {
        checkMembers(rest, ["timeout", "signal"], "options");
        if (sealed !== undefined && text !== undefined) throw new TypeError("a reply with sealed must have no text");
        const members = { eventID, action, text, sealed, timeout };
        return (await this.#post("/v1/reply", members, signal, timeout * 1000)).result;
    }

    /**
     * What is known of an event: `{ acknowledgedAt, reply, result }`. Waits up to `timeout` seconds for a reply.
     *
     * To wait longer, call it again. The call may take up to `deadline` plus `timeout`.
     */
    async waitForReply(eventID, { timeout = 20, signal, ...rest } = {}) {
        checkMembers(rest, ["timeout", "signal"], "options");
        const answer = await this.#post("/v1/reply/wait", { eventID, timeout }, signal, timeout * 1000);
        const { acknowledgedAt, reply, result } = answer;
        return { acknowledgedAt, reply, result };
    }

    /**
     * Reports the result of the reply to an event, for senders: `{ outcome, reason }`, or `{ sealed }` from
     * `SealedResult.seal`. Returns the result that counts, which is the first one reported.
     */
    async reportResult(eventID, { outcome, reason, sealed }, { signal } = {}) {
        return (await this.#post("/v1/reply/result", { eventID, outcome, reason, sealed }, signal)).result;
    }

    /**
     * The outcomes of what the secret sent, oldest first: `{ outcomes, cursor }`. Waits up to `timeout` seconds for the first.
     *
     * `cursor` is the previous page's; `since` is the time of the first outcome. The call may take up to `deadline` plus
     * `timeout`.
     */
    async outcomes({ cursor, since, limit, timeout = 0, signal, ...rest } = {}) {
        checkMembers(rest, ["cursor", "since", "limit", "timeout", "signal"], "options");
        const members = { cursor, since, limit, timeout };
        const answer = await this.#post("/v1/outcomes", members, signal, timeout * 1000);
        return { outcomes: answer.outcomes, cursor: answer.cursor };
    }

    /**
     * Sends a notification or an event later: once (`at`, `in`) or repeatedly (`every`). docs/guide/schedules.md lists the members.
     *
     * `name` is random if absent, so that a retry isn't a second schedule.
     */
    async schedule(schedule, { signal } = {}) {
        checkRequest("schedule", schedule);
        const { deviceToken } = schedule;
        const token = deviceToken === undefined ? undefined : deviceTokenText(deviceToken);
        const members = { ...schedule, deviceToken: token, name: schedule.name ?? await randomID() };
        const { id, nextAt } = await this.#post("/v1/schedule/create", members, signal);
        return { id, nextAt };
    }

    /** The schedules, next due first, without their text. */
    async schedules({ signal } = {}) {
        return (await this.#post("/v1/schedule/list", {}, signal)).schedules;
    }

    /** Cancels a schedule by `{ id }` or `{ name }`. Returns whether there was one. */
    async cancelSchedule({ id, name }, { signal } = {}) {
        return (await this.#post("/v1/schedule/cancel", { id, name }, signal)).cancelled === 1;
    }

    /**
     * Creates an access token: `{ scope: "send" | "read" | "reply", name, expiresAt? }`. The relay never shows it again; a retry can leave a second one
     * that is never used.
     */
    async createToken({ scope, name, expiresAt }, { signal } = {}) {
        const { token, tokenID } = await this.#post("/v1/token/create", { scope, name, expiresAt }, signal);
        return { token, tokenID };
    }

    /** The access tokens, oldest first, without the token strings. */
    async tokens({ signal } = {}) {
        return (await this.#post("/v1/token/list", {}, signal)).tokens;
    }

    /** Revokes an access token. Returns whether there was one. */
    async revokeToken(tokenID, { signal } = {}) {
        return (await this.#post("/v1/token/revoke", { tokenID }, signal)).revoked === 1;
    }

    /** `longer` is how many milliseconds the relay may take beyond the deadline. */
    #post(path, members, signal, longer = 0) {
        return this.#secretInHeader
            ? this.#requests.post(path, members, { bearer: this.#secret, signal, longer })
            : this.#requests.post(path, { secret: this.#secret, ...members }, { signal, longer });
    }
}

/** The members of an event, after checks. */
async function eventMembers(event) {
    checkRequest("event", event);
    if (event.sealed !== undefined && (event.title !== undefined || event.body !== undefined)) {
        throw new TypeError("an event with sealed must have neither title nor body");
    }
    return withEventID(event);
}

async function withEventID(members) {
    return { ...members, eventID: members.eventID ?? await randomID() };
}

async function randomID() {
    return encodeHex(await cryptography().randomBytes(16));
}
