import assert from "node:assert/strict";
import { test } from "node:test";
import { Pairing, Relay, RelayError, TokenKeeper } from "../node.js";
import { AnsweringServer } from "./answering-server.js";
import { MemoryStore } from "./memory-store.js";

const secret = "a secret of the tests";

/** Runs a test against a server that answers like this; pauses between attempts are recorded but skipped. */
async function withRelay(answers, body, options = {}) {
    const server = await AnsweringServer.start(...answers);
    const pauses = [];
    const sleep = async (milliseconds) => void pauses.push(Math.round(milliseconds));
    try {
        const relay = new Relay({ url: server.url, secret, sleep, random: () => 0, ...options });
        await body(relay, server, pauses);
    } finally {
        await server.stop();
    }
}

const busy = (status, seconds) =>
    ({ status, body: { ok: false, error: "Busy.", code: "overloaded" }, headers: { "retry-after": String(seconds) } });

test("registering sends the members and folds the token's case", async () => {
    await withRelay([{}], async (relay, server) => {
        const device = { deviceToken: " 00FC13AD\n", bundleId: "com.example.app", sealed: [1], deviceName: undefined };
        assert.deepEqual(await relay.register(device), { registered: true });
        await relay.register({ deviceToken: Uint8Array.of(0, 0xfc, 0x13, 0xad) });
        assert.equal(server.received[0].method, "POST");
        assert.equal(server.received[0].path, "/v1/device/register");
        assert.deepEqual(
            server.received[0].body, { secret, deviceToken: "00fc13ad", bundleId: "com.example.app", sealed: [1] });
        assert.equal(server.received[1].body.deviceToken, "00fc13ad");
        for (const deviceToken of ["", "xyz", "abc", undefined]) {
            await assert.rejects(relay.register({ deviceToken }), TypeError);
        }
        assert.equal(server.received.length, 2);
    });
});

test("a challenge is a result", async () => {
    const body = { ok: true, registered: false, challengeID: "0191", expiresIn: 600 };
    await withRelay([{ status: 202, body }], async (relay) => {
        const result = await relay.register({ deviceToken: "00" });
        assert.deepEqual(result, { registered: false, challengeID: "0191", expiresIn: 600 });
    });
});

test("each call uses its route", async () => {
    await withRelay([{ body: { ok: true, devices: [{ device: "…00fc13ad" }] } }], async (relay, server) => {
        await relay.unregister("00FC13AD");
        assert.deepEqual(await relay.devices(), [{ device: "…00fc13ad" }]);
        await relay.event({ eventType: "complete", sessionID: "ses", title: "T", eventID: "evt" });
        await relay.notify({ title: "T" }, { deviceToken: "00FC13AD", eventID: "evt", sealed: "AQ" });
        await relay.testPush({ deviceToken: "00fc13ad" });
        const bodies = server.received.map(({ path, body }) => [path, body]);
        assert.deepEqual(bodies[0], ["/v1/device/unregister", { secret, deviceToken: "00fc13ad" }]);
        assert.deepEqual(bodies[1], ["/v1/device/list", { secret }]);
        assert.deepEqual(
            bodies[2], ["/v1/event", { secret, eventType: "complete", sessionID: "ses", title: "T", eventID: "evt" }]);
        assert.deepEqual(bodies[3], [
            "/v1/notify", { secret, notification: { title: "T" }, deviceToken: "00fc13ad", sealed: "AQ", eventID: "evt" }]);
        assert.equal(bodies[4][1].notification.title, "Test");
    });
});

test("history is read page by page and marked as read", async () => {
    const body = { ok: true, unread: 2, items: [{ id: "1" }], next: "1" };
    await withRelay([{ body }, { body: { ok: true, unread: 1, items: [] } }, { body: { ok: true, read: 1, unread: 0 } }],
        async (relay, server) => {
            assert.deepEqual(await relay.history({ limit: 1 }), { unread: 2, items: [{ id: "1" }], next: "1" });
            assert.deepEqual(await relay.history({ before: "1" }), { unread: 1, items: [], next: undefined });
            assert.equal(await relay.readHistory(["1"]), 0);
            assert.equal(await relay.readHistory("all"), 0);
            assert.deepEqual(server.received.map(({ path, body }) => [path, body]), [
                ["/v1/history/list", { secret, limit: 1 }], ["/v1/history/list", { secret, before: "1" }],
                ["/v1/history/read", { secret, ids: ["1"] }], ["/v1/history/read", { secret, all: true }],
            ]);
        });
});

test("a schedule is made, listed and cancelled, and a retry makes no second one", async () => {
    const created = { ok: true, id: "1", nextAt: "2027-01-15T09:00:00.000Z" };
    await withRelay([{ status: 503 }, { body: created }, { body: created }, { body: { ok: true, schedules: [{ id: "1" }] } },
        { body: { ok: true, cancelled: 1 } }, { body: { ok: true, cancelled: 0 } }], async (relay, server) => {
        const snooze = { in: 3600, deviceToken: "00FC13AD", notification: { title: "T" } };
        assert.deepEqual(await relay.schedule(snooze), { id: "1", nextAt: created.nextAt });
        const [first, second] = server.received.map(({ body }) => body);
        assert.deepEqual(first, second);
        assert.match(first.name, /^[0-9a-f]{32}$/);
        assert.deepEqual({ ...first, name: "n" }, { secret, ...snooze, deviceToken: "00fc13ad", name: "n" });
        const daily = { every: { unit: "day", at: ["08:00"], timeZone: "device" }, eventType: "error", sessionID: "s", name: "n" };
        await relay.schedule(daily);
        assert.deepEqual(await relay.schedules(), [{ id: "1" }]);
        assert.equal(await relay.cancelSchedule({ id: "1" }), true);
        assert.equal(await relay.cancelSchedule({ name: "n" }), false);
        assert.deepEqual(server.received.slice(2).map(({ path, body }) => [path, body]), [
            ["/v1/schedule/create", { secret, ...daily }], ["/v1/schedule/list", { secret }],
            ["/v1/schedule/cancel", { secret, id: "1" }], ["/v1/schedule/cancel", { secret, name: "n" }],
        ]);
    });
});

test("an access token is made, listed and revoked", async () => {
    const token = { token: "rt_x", tokenID: "1" };
    await withRelay([{ body: { ok: true, ...token } }, { body: { ok: true, tokens: [{ tokenID: "1" }] } },
        { body: { ok: true, revoked: 1 } }, { body: { ok: true, revoked: 0 } }], async (relay, server) => {
        assert.deepEqual(await relay.createToken({ scope: "send", name: "CI" }), token);
        assert.deepEqual(await relay.tokens(), [{ tokenID: "1" }]);
        assert.equal(await relay.revokeToken("1"), true);
        assert.equal(await relay.revokeToken("1"), false);
        assert.deepEqual(server.received.map(({ path, body }) => [path, body]), [
            ["/v1/token/create", { secret, scope: "send", name: "CI" }], ["/v1/token/list", { secret }],
            ["/v1/token/revoke", { secret, tokenID: "1" }], ["/v1/token/revoke", { secret, tokenID: "1" }],
        ]);
    });
});

test("the secret or the registration key can be in the header", async () => {
    await withRelay([{}], async (relay, server) => {
        await relay.unregister("00");
        assert.equal(server.received[0].headers.authorization, `Bearer ${secret}`);
        assert.deepEqual(server.received[0].body, { deviceToken: "00" });
    }, { secretInHeader: true });
    await withRelay([{}], async (relay, server) => {
        await relay.register({ deviceToken: "00" });
        await relay.unregister("00");
        assert.deepEqual(server.received.map(({ headers }) => headers.authorization), ["Bearer key", undefined]);
        assert.deepEqual(server.received.map(({ body }) => body.secret), [secret, secret]);
    }, { registrationKey: "key" });
});

test("a sealed event with a readable text is never sent", async () => {
    await withRelay([{}], async (relay, server) => {
        for (const text of [{ title: "T" }, { body: "B" }, { title: "" }]) {
            await assert.rejects(relay.event({ eventType: "error", sessionID: "s", sealed: "AQ", ...text }), TypeError);
        }
        assert.equal(server.received.length, 0);
        // What a relay that doesn't know `sealed` gets: nothing that it could show.
        await relay.event({ eventType: "error", sessionID: "s", sealed: "AQ", eventID: "e" });
        assert.deepEqual(
            server.received[0].body, { secret, eventType: "error", sessionID: "s", sealed: "AQ", eventID: "e" });
    });
});

test("429 and 503 are retried after the time that the relay names, with the same event", async () => {
    await withRelay([busy(429, 3), busy(503, 1), {}], async (relay, server, pauses) => {
        await relay.event({ eventType: "complete", sessionID: "ses" });
        assert.deepEqual(pauses, [3000, 1000]);
        const ids = new Set(server.received.map(({ body }) => body.eventID));
        assert.equal(server.received.length, 3);
        assert.equal(ids.size, 1);
        assert.match([...ids][0], /^[0-9a-f]{32}$/);
    });
});

test("a lost connection and errors of proxies are retried with growing pauses", async () => {
    const proxy = { status: 502, body: "<html>Bad gateway</html>" };
    await withRelay(["drop", proxy, { status: 504, body: "" }, {}], async (relay, server, pauses) => {
        await relay.unregister("00");
        assert.deepEqual(pauses, [125, 250, 500]);
        assert.equal(server.received.length, 4);
    });
});

test("attempts and time are limited", async () => {
    await withRelay([busy(503, 1)], async (relay, server) => {
        await assert.rejects(relay.devices(), { kind: "refused", status: 503, code: "overloaded", retryAfter: 1 });
        assert.equal(server.received.length, 2);
    }, { attempts: 2 });
    await withRelay([busy(503, 600)], async (relay, server, pauses) => {
        await assert.rejects(relay.devices(), { status: 503, retryAfter: 600, isTemporary: true });
        assert.equal(server.received.length, 1);
        assert.deepEqual(pauses, []);
    });
});

test("Retry-After can be a date", async () => {
    const date = new Date(Date.now() + 10_000).toUTCString();
    await withRelay([busy(503, date), {}], async (relay, server, pauses) => {
        await relay.devices();
        assert.ok(pauses[0] <= 10_000, String(pauses[0]));
        assert.equal(server.received.length, 2);
    });
});

test("other errors are not retried and say what the relay said", async () => {
    const body = { ok: false, error: "A field is not valid.", code: "invalid_field", field: "title" };
    await withRelay([{ status: 400, body, headers: { "x-request-id": "r1" } }], async (relay, server) => {
        await assert.rejects(relay.testPush(), (error) => {
            assert.ok(error instanceof RelayError);
            assert.deepEqual(
                [error.kind, error.status, error.code, error.field, error.requestID, error.message, error.isTemporary],
                ["refused", 400, "invalid_field", "title", "r1", "A field is not valid.", false]);
            assert.doesNotMatch(JSON.stringify(error) + String(error), /secret of the tests/);
            return true;
        });
        assert.equal(server.received.length, 1);
    });
    await withRelay([{ status: 404, body: "not JSON" }], async (relay) => {
        await assert.rejects(relay.devices(), { kind: "refused", status: 404, message: /404/ });
    });
});

test("an answer that isn't a relay's, or a redirect, is an error", async () => {
    for (const body of ["<html>", "[]", "null", "{}", '{"ok":false}']) {
        await withRelay([{ body }], async (relay) => {
            await assert.rejects(relay.devices(), { kind: "unexpectedAnswer", status: 200 });
        });
    }
    await withRelay([{ status: 307, body: "", headers: { location: "http://127.0.0.1:1/" } }], async (relay) => {
        await assert.rejects(relay.devices(), { kind: "redirected", status: 307, isTemporary: false });
    });
});

test("requests have the traceparent that they are given, if there is one", async () => {
    const places = ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", undefined];
    await withRelay([{ body: { ok: true, devices: [] } }, { body: { ok: true, devices: [] } }], async (relay, server) => {
        await relay.devices();
        await relay.devices();
        assert.equal(server.received[0].headers.traceparent, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        assert.ok(!("traceparent" in server.received[1].headers));
    }, { traceparent: () => places.shift() });
});

test("a relay that doesn't answer costs at most the deadline", async () => {
    await withRelay(["silence"], async (relay) => {
        await assert.rejects(relay.devices(), { kind: "timeout", isTemporary: true });
    }, { deadline: 200 });
    const never = { fetch: () => new Promise(() => {}), deadline: 20 };
    await withRelay([{}], (relay) => assert.rejects(relay.devices(), { kind: "timeout" }), never);
});

test("a signal ends a request and the pause before the next", async () => {
    await withRelay(["silence"], async (relay) => {
        const controller = new AbortController();
        const request = relay.devices({ signal: controller.signal });
        controller.abort();
        await assert.rejects(request, { kind: "aborted" });
        await assert.rejects(relay.devices({ signal: controller.signal }), { kind: "aborted" });
    });
    await withRelay([busy(503, 20)], async (_, server) => {
        const controller = new AbortController();
        const relay = new Relay({ url: server.url, secret });
        const request = relay.devices({ signal: controller.signal });
        const fetched = setInterval(() => server.received.length > 0 && controller.abort(), 1);
        await assert.rejects(request, { kind: "aborted" });
        clearInterval(fetched);
    });
});

test("URLs without a scheme, with a query or a user are refused", () => {
    for (const url of [undefined, "", "relay.example.org", "ftp://a", "https://a?x", "https://u:p@a", "https://"]) {
        assert.throws(() => new Relay({ url, secret }), TypeError);
    }
    assert.throws(() => new Relay({ url: "https://a", secret: "" }), TypeError);
});

// TokenKeeper

const pairing = (name) => Pairing.make({ hosts: [name], relayURL: "https://relay.example.org" });

/** A relay in memory: the registered tokens of each secret, and which calls fail. */
class FakeRelay {
    tokens = new Map();
    calls = [];
    failing = new Set();
    challenging = false;

    of(pairing) {
        const host = pairing.hosts[0];
        const call = (name, token) => {
            this.calls.push(`${name} ${host} ${token}`);
            if (this.failing.has(name) || this.failing.has(host)) throw new RelayError("unreachable", "x");
            return this.tokens.get(host) ?? this.tokens.set(host, new Set()).get(host);
        };
        return {
            register: async (device) => {
                const tokens = call("register", device.deviceToken);
                this.device = device;
                if (this.challenging && device.challengeCode !== "code") {
                    return { registered: false, challengeID: `for ${host}`, expiresIn: 600 };
                }
                tokens.add(device.deviceToken);
                return { registered: true };
            },
            unregister: async (token) => void call("unregister", token).delete(token),
        };
    }
}

function keeping(fake, store = new MemoryStore(), details = { bundleId: "b", sealed: [1] }) {
    return new TokenKeeper({ store, secrets: store, details, relay: (pairing) => fake.of(pairing) });
}

test("a token is registered at each start, and unregistered when another replaces it", async () => {
    const [fake, store, one] = [new FakeRelay(), new MemoryStore(), await pairing("one")];
    await keeping(fake, store).sync([one], "AA");
    await keeping(fake, store).sync([one], "aa");
    const [result] = await keeping(fake, store).sync([one], "bb");
    assert.deepEqual(result, { pairing: one, status: "registered" });
    assert.deepEqual(
        fake.calls, ["register one aa", "register one aa", "register one bb", "unregister one aa"]);
    assert.deepEqual(fake.device, { bundleId: "b", sealed: [1], challengeCode: undefined, deviceToken: "bb" });
    assert.doesNotMatch(JSON.stringify([...store.entries]), new RegExp(one.relaySecret));
});

test("what failed is done the next time", async () => {
    const [fake, store, one] = [new FakeRelay(), new MemoryStore(), await pairing("one")];
    await keeping(fake, store).sync([one], "aa");
    fake.failing.add("unregister");
    assert.equal((await keeping(fake, store).sync([one], "bb"))[0].status, "failed");
    assert.equal((await keeping(fake, store).sync([one], "cc"))[0].error.kind, "unreachable");
    fake.failing.clear();
    assert.equal((await keeping(fake, store).sync([one], "cc"))[0].status, "registered");
    assert.deepEqual([...fake.tokens.get("one")], ["cc"]);
    await keeping(fake, store).forget(one);
    assert.deepEqual([...fake.tokens.get("one")], []);
});

test("a relay that is down doesn't affect another", async () => {
    const [fake, one, two] = [new FakeRelay(), await pairing("one"), await pairing("two")];
    fake.failing.add("one");
    const results = await keeping(fake).sync([one, two], "aa");
    assert.deepEqual(results.map(({ status }) => status), ["failed", "registered"]);
});

test("calls follow one another", async () => {
    const [fake, one] = [new FakeRelay(), await pairing("one")];
    const keeper = keeping(fake);
    await Promise.all([keeper.sync([one], "aa"), keeper.sync([one], "bb"), keeper.sync([one], "cc")]);
    assert.deepEqual([...fake.tokens.get("one")], ["cc"]);
    await Promise.all([keeper.sync([one], "dd"), keeper.forget(one)]);
    assert.deepEqual([...fake.tokens.get("one")], []);
    assert.throws(() => keeper.sync([one], "not a token"), TypeError);
});

test("a challenge is answered once its push arrives, even before the answer to the registration", async () => {
    const [fake, one] = [new FakeRelay(), await pairing("one")];
    fake.challenging = true;
    const keeper = keeping(fake);
    const syncing = keeper.sync([one], "aa");
    const answering = keeper.answer({ id: "for one", code: "code" });
    assert.equal((await syncing)[0].status, "challenged");
    assert.equal((await answering).status, "registered");
    assert.deepEqual([...fake.tokens.get("one")], ["aa"]);
    assert.equal(await keeper.answer({ id: "for one", code: "code" }), undefined);
    assert.equal(await keeper.answer({ id: "of a stranger", code: "code" }), undefined);
});

test("sealed notifications are announced only for pairings with a key", async () => {
    const [fake, store] = [new FakeRelay(), new MemoryStore()];
    const plain = await Pairing.parse('{"relaySecret":"plain secret","hosts":["plain"]}');
    await keeping(fake, store).sync([plain], "aa");
    assert.equal(fake.device.sealed, undefined);
    const details = ({ hosts }) => ({ deviceName: hosts[0] });
    await keeping(fake, store, details).sync([plain], "aa");
    assert.equal(fake.device.deviceName, "plain");
});

test("an event is acknowledged, replied to and waited for", async () => {
    const known = { acknowledgedAt: "2026-11-23T12:40:02.004Z", reply: { at: "2026-11-23T12:40:02.004Z", action: "once" } };
    const taken = { status: 409, body: { ok: false, error: "The event has another reply.", code: "already_replied" } };
    await withRelay([{}, {}, {}, {}, taken, { body: { ok: true, ...known } }, { body: { ok: true } }], async (relay, server) => {
        await relay.acknowledge("evt");
        await relay.reportPresence(90, { deviceID: "app" });
        await relay.reportPresence(0);
        assert.equal(await relay.reply("evt", { action: "once", text: "yes" }), true);
        assert.equal(await relay.reply("evt", { sealed: "AQ" }), false);
        assert.deepEqual(await relay.waitForReply("evt"), { ...known, result: undefined });
        assert.deepEqual(
            await relay.waitForReply("evt", { timeout: 0 }),
            { acknowledgedAt: undefined, reply: undefined, result: undefined });
        await assert.rejects(relay.reply("evt", { sealed: "AQ", text: "yes" }), TypeError);
        assert.deepEqual(server.received.map(({ path, body }) => [path, body]), [
            ["/v1/ack", { secret, eventID: "evt" }],
            ["/v1/presence", { secret, seconds: 90, deviceID: "app" }],
            ["/v1/presence", { secret, seconds: 0 }],
            ["/v1/reply", { secret, eventID: "evt", action: "once", text: "yes" }],
            ["/v1/reply", { secret, eventID: "evt", sealed: "AQ" }],
            ["/v1/reply/wait", { secret, eventID: "evt", timeout: 20 }],
            ["/v1/reply/wait", { secret, eventID: "evt", timeout: 0 }],
        ]);
    });
});

test("several events get a result each, with the ID under which to send it again", async () => {
    const results = [{ status: 200, ok: true, sent: 1, failed: 0 }, { status: 429, ok: false, error: "Later.", code: "rate_limited", retryAfter: 3 }];
    await withRelay([{ body: { ok: true, results } }], async (relay, server) => {
        const answer = await relay.events([{ eventType: "complete", eventID: "e" }, { eventType: "error" }]);
        const [first, second] = server.received[0].body.events;
        assert.deepEqual([server.received[0].path, first, second.eventType], ["/v1/events", { eventType: "complete", eventID: "e" }, "error"]);
        assert.match(second.eventID, /^[0-9a-f]{32}$/);
        assert.deepEqual(answer, [{ eventID: "e", ...results[0] }, { eventID: second.eventID, ...results[1] }]);
        await assert.rejects(relay.events([{ eventType: "complete", sealed: "AQ", title: "t" }]), TypeError);
    });
});

test("outcomes are listed and waited for, each page after the one before", async () => {
    const push = { type: "push", at: "2026-11-23T12:40:02.004Z", status: "sent", apnsID: "1", eventType: "error" };
    await withRelay([{ body: { ok: true, outcomes: [push], cursor: "1-0-1-" } }, { body: { ok: true, outcomes: [], cursor: "1-0-1-" } }],
        async (relay, server) => {
            const since = "2026-11-23T00:00:00Z";
            assert.deepEqual(await relay.outcomes({ since, limit: 1 }), { outcomes: [push], cursor: "1-0-1-" });
            assert.deepEqual(await relay.outcomes({ cursor: "1-0-1-", timeout: 50 }), { outcomes: [], cursor: "1-0-1-" });
            await assert.rejects(relay.outcomes({ wait: 1 }), TypeError);
            assert.deepEqual(server.received.map(({ path, body }) => [path, body]), [
                ["/v1/outcomes", { secret, since, limit: 1, timeout: 0 }],
                ["/v1/outcomes", { secret, cursor: "1-0-1-", timeout: 50 }],
            ]);
        });
});

test("the result of a reply is asked for with the same reply, and reported by the sender", async () => {
    const result = { at: "2026-11-23T12:40:03.004Z", outcome: "refused", reason: "status_400" };
    const taken = { status: 409, body: { ok: false, error: "The event has another reply.", code: "already_replied" } };
    const told = { body: { ok: true, result } };
    await withRelay([{}, told, taken, told, told], async (relay, server) => {
        assert.equal(await relay.replyResult("evt", { sealed: "AQ" }, { timeout: 0 }), undefined);
        assert.deepEqual(await relay.replyResult("evt", { sealed: "AQ" }), result);
        await assert.rejects(relay.replyResult("evt", { action: "once" }), { code: "already_replied" });
        assert.deepEqual(await relay.reportResult("evt", { outcome: "refused", reason: "status_400" }), result);
        assert.deepEqual((await relay.waitForReply("evt")).result, result);
        await assert.rejects(relay.replyResult("evt", { sealed: "AQ", text: "yes" }), TypeError);
        await assert.rejects(relay.replyResult("evt", { sealed: "AQ" }, { wait: 1 }), TypeError);
        assert.deepEqual(server.received.slice(0, 4).map(({ path, body }) => [path, body]), [
            ["/v1/reply", { secret, eventID: "evt", sealed: "AQ", timeout: 0 }],
            ["/v1/reply", { secret, eventID: "evt", sealed: "AQ", timeout: 20 }],
            ["/v1/reply", { secret, eventID: "evt", action: "once", timeout: 20 }],
            ["/v1/reply/result", { secret, eventID: "evt", outcome: "refused", reason: "status_400" }],
        ]);
    });
});
