// Checked by tsc, never run: the declarations allow what README.md shows and reject what is invalid.
import {
    Envelope, EnvelopeError, Pairing, PushPayload, Relay, RelayError, Replay, SealedReply, SealedResult, TokenKeeper, WebPush,
    expoPushToken, setCryptography, webCryptography, type Cryptography, type Recurrence, type Store,
} from "apn-relay-client";

const entries = new Map<string, string>();
const store: Store = { get: (name) => entries.get(name), set: (name, value) => entries.set(name, value) };

const primitives: Cryptography = {
    randomBytes: (count) => new Uint8Array(count),
    hmacSHA256: (key) => key,
    sealAES256GCM: async (key, nonce, plaintext, associatedData) => plaintext,
    openAES256GCM: async (key, nonce, sealed, associatedData) => sealed,
};

export async function phone(link: string, token: string, notification: unknown): Promise<string | undefined> {
    setCryptography(primitives);
    setCryptography(webCryptography(crypto));
    const pairing = await Pairing.parse(link);
    const keeper = new TokenKeeper({ store, secrets: store, details: { bundleId: "com.example.app", apnsEnv: "sandbox", sealed: [1] } });
    const [result] = await keeper.sync([pairing], token);
    if (result.status === "failed" && result.error instanceof RelayError && result.error.kind === "refused") {
        return result.error.code;
    }
    const push = PushPayload.fromExpo(notification);
    if (push?.challenge) await keeper.answer(push.challenge);
    if (!push?.sealed || !pairing.keys) return push?.title;
    try {
        const opened = await Envelope.open({ keys: [pairing.keys], type: push.type, sealed: push.sealed });
        const state = await new Replay(store).check(opened);
        return state === "fresh" ? opened.content.title : push.title;
    } catch (error) {
        if (error instanceof EnvelopeError && error.reason === "unsupportedVersion") return "update";
        return push.title;
    }
}

export async function page(pairing: Pairing, manager: PushManager, event: Event): Promise<string | undefined> {
    const relay = Relay.of(pairing);
    const { publicKey } = await relay.webPushKey();
    const old = await manager.getSubscription();
    const subscription: PushSubscription = old && WebPush.hasKey(old, publicKey) ? old : await WebPush.subscribe(manager, publicKey, old);
    const keeper = new TokenKeeper({ store, secrets: store, details: { deviceID: "installation" } });
    const [result] = await keeper.sync([pairing], { subscription, page: location.href });
    if (result.status === "otherKey") return result.publicKey;
    await relay.register({ webPush: subscription });
    await relay.register({ webPush: WebPush.members(subscription, { page: location.href }), deviceName: "Firefox" });
    const unifiedPush = { endpoint: "https://ntfy.sh/up1?up=1", keys: { p256dh: "BC", auth: "AA" } };
    await keeper.sync([pairing], { subscription: unifiedPush, publicKey });
    // @ts-expect-error: one or the other
    await relay.register({ webPush: unifiedPush, deviceToken: "00fc13ad" });
    // @ts-expect-error: no keys
    await relay.register({ webPush: { endpoint: "https://ntfy.sh/up1" } });
    for (const { transport, service } of await relay.devices()) if (transport === "webpush" && service) return service;
    await relay.unregister({ webPush: { endpoint: subscription.endpoint } });
    await relay.unregister({ webPush: subscription });
    const push = PushPayload.fromWebPush(event);
    return push?.isSilent ? undefined : push?.title;
}

export async function sender(pairing: Pairing, signal: AbortSignal): Promise<number> {
    const relay = Relay.of(pairing, { deadline: 5_000, fetch });
    if (!pairing.keys) return 0;
    const sealed = await Envelope.seal({
        keys: pairing.keys, type: "complete", content: { title: "Done", eventID: "evt_1", notification: { badge: 1 } },
    });
    const answer = await relay.event({ eventType: "complete", sessionID: "ses_1", eventID: "evt_1", sealed }, { signal });
    const registration = await relay.register({ deviceToken: "00fc13ad", preferences: { eventTypes: ["error"] } });
    if (!registration.registered) return registration.expiresIn;
    // @ts-expect-error: not an event type
    await relay.event({ eventType: "finished", sessionID: "ses_1" });
    // @ts-expect-error: not a push type
    await relay.notify({ pushType: "voip" });
    // @ts-expect-error: made by parse() or make()
    new Pairing();
    await relay.reportPresence(90, { deviceID: "app" });
    const { reply } = await relay.waitForReply("evt_1", { timeout: 10 });
    if (reply?.sealed) await SealedReply.open({ keys: pairing.keys, eventID: "evt_1", sealed: reply.sealed });
    const questions = [{ text: "Which?", options: [{ label: "SQLite" }], allowsText: true }];
    await Envelope.seal({ keys: pairing.keys, type: "permission", content: { title: "Question", request: { end: 1_700_000_590, questions } } });
    const given = await SealedReply.seal({ keys: pairing.keys, eventID: "evt_1", action: "answer", answers: [["SQLite"]] });
    const { answers = [] } = await SealedReply.open({ keys: pairing.keys, eventID: "evt_1", sealed: given });
    if (answers[0]?.includes("SQLite")) return answers.length;
    // @ts-expect-error: a question without a text
    await Envelope.seal({ keys: pairing.keys, type: "permission", content: { title: "Question", request: { questions: [{}] } } });
    for (const result of await relay.events([{ eventType: "complete", sessionID: "s" }])) {
        if (!result.ok) throw new Error(`${result.eventID}: ${result.code}, ${result.retryAfter ?? 0}`);
        if (result.status === 200 && result.sent === 0) throw new Error(result.eventID);
    }
    const { outcomes, cursor } = await relay.outcomes({ timeout: 10 });
    for (const outcome of outcomes) if (outcome.type === "push" && outcome.status === "failed") throw new Error(outcome.reason);
    // @ts-expect-error: a cursor and a time
    await relay.outcomes({ cursor, since: "2026-11-23T00:00:00Z" });
    // @ts-expect-error: neither an action nor sealed
    await relay.reply("evt_1", { text: "yes" });
    const result = await relay.replyResult("evt_1", { sealed }, { timeout: 10 });
    if (result?.sealed) {
        const { outcome } = await SealedResult.open({
            keys: pairing.keys, eventID: "evt_1", reply: sealed, sealed: result.sealed,
        });
        if (outcome !== "taken") throw new Error(outcome);
    }
    // @ts-expect-error: neither an action nor sealed
    await relay.replyResult("evt_1", { text: "yes" });
    const every: Recurrence = { unit: "week", on: ["mon"], at: ["08:00"], timeZone: "device" };
    await relay.schedule({ every, eventType: "complete", sessionID: "ses_1", sealed });
    const { id } = await relay.schedule({ in: 3600, notification: { title: "Reminder" }, name: "snooze" });
    // @ts-expect-error: no time
    await relay.schedule({ notification: { title: "Reminder" } });
    // @ts-expect-error: events for Live Activities can't be scheduled
    await relay.schedule({ in: 60, eventType: "progress", sessionID: "ses_1" });
    await relay.registerActivity({ sessionID: "ses_1", activityToken: new Uint8Array(32), deviceToken: "00fc13ad" });
    await relay.event({ eventType: "end", sessionID: "ses_1", contentState: { status: "complete" } });
    await relay.unregisterActivity("ses_1", { activityToken: "80f2" });
    if ((await relay.schedules()).length > 0) await relay.cancelSchedule({ id });
    const { items, unread } = await relay.history({ limit: 10 });
    if (unread > 0) await relay.readHistory(items.map(({ id }) => id));
    return answer.sent;
}

export async function expo(deviceToken: string): Promise<string | undefined> {
    const options = { url: "https://relay.example.org", secrets: store, registrationKey: "k" };
    // @ts-expect-error: no store
    await expoPushToken({ deviceToken }, { url: "https://relay.example.org" });
    return (await expoPushToken({ deviceToken, bundleId: "com.example.app", challengeCode: "1" }, options))?.data;
}
