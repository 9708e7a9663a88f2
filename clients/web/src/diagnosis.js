// "Why didn't it ring?": judges the facts that facts.js gathers.
import { texts } from "./texts.js";

const clockToleranceMinutes = 2;

/**
 * The rows of the diagnosis: `{ id, name, state, text, advice }`, where `state` is `ok`, `warn`, `bad` or `unknown`.
 *
 * Later parts that can't work because of an earlier one are left out, so that each problem is named once.
 */
export function diagnose(facts, now = Date.now()) {
    const { check } = texts;
    const row = (id, state, [text, advice], name) => ({ id: name ? `${id} ${name}` : id, title: check.rows[id], name, state, text,
        advice });
    const rows = [];
    const permission = facts.isTab ? "home" : facts.hasPush ? facts.permission : "unsupported";
    const isAllowed = permission === "granted";
    rows.push(row("permission", isAllowed ? "ok" : "bad", check.permission[permission] ?? check.permission.default));
    if (facts.hasPush) rows.push(row("worker", facts.hasWorker ? "ok" : "bad", facts.hasWorker ? check.worker.ok : check.worker.bad));
    if (isAllowed && facts.hasWorker) {
        rows.push(facts.service ? row("subscription", "ok", check.subscription.ok(facts.service)) : row("subscription", "bad",
            check.subscription.bad));
    }
    if (facts.pairings.length === 0) rows.push(row("pairing", "bad", check.pairing.none));
    for (const pairing of facts.pairings) rows.push(...rowsOf(pairing, facts, now,
        (id, ...rest) => row(id, ...rest, facts.pairings.length > 1 ? pairing.name : undefined)));
    const { arrival } = facts;
    if (!arrival) rows.push(row("arrival", "unknown", check.arrival.none));
    else if (arrival.isLocked) rows.push(row("arrival", "bad", check.arrival.locked(texts.when(arrival.at, now))));
    else rows.push(row("arrival", "ok", check.arrival.ok(texts.when(arrival.at, now))));
    return rows;
}

function rowsOf(pairing, facts, now, row) {
    const { check } = texts;
    const rows = [];
    const { relay } = pairing;
    if (relay === "unreachable" || relay === "off" || relay === "old") return [row("relay", "bad", check.relay[relay])];
    if (pairing.faults.length > 0) rows.push(row("relay", "bad", check.relay.notReady(pairing.faults.join(", "))));
    else rows.push(row("relay", "ok", check.relay.ok(pairing.host)));
    rows.push(clockRow(pairing.clockMilliseconds, row));
    if (!facts.service) return rows;
    rows.push(row("key", pairing.hasKey ? "ok" : "bad", pairing.hasKey ? check.key.ok : check.key.bad));
    rows.push(registrationRow(pairing, row));
    if (pairing.device) rows.push(pushRow(pairing.device.lastPush, now, row));
    return rows;
}

function clockRow(milliseconds, row) {
    const { clock } = texts.check;
    if (milliseconds === undefined) return row("clock", "unknown", clock.unknown);
    const minutes = Math.round(Math.abs(milliseconds) / 60_000);
    return minutes > clockToleranceMinutes ? row("clock", "bad", clock.bad(minutes)) : row("clock", "ok", clock.ok);
}

function registrationRow({ registration, device, hasList }, row) {
    const { check } = texts;
    if (registration?.state === "failed" && !device) {
        return row("registration", "bad", check.registration.failed(texts.registration(registration)));
    }
    if (hasList && !device) return row("registration", "bad", check.registration.bad);
    if (registration?.ignored?.length > 0) return row("registration", "warn", check.registration.ignored(registration.ignored.join(", ")));
    return row("registration", device ? "ok" : "unknown", device ? check.registration.ok : check.registration.bad);
}

function pushRow(push, now, row) {
    const { check } = texts;
    if (!push) return row("push", "warn", check.push.none);
    const when = texts.when(Date.parse(push.at), now);
    const reason = String(push.reason ?? push.status).slice(0, 64);
    if (push.status === "sent") return row("push", "ok", check.push.sent(when));
    if (push.status === "muted") return row("push", "warn", check.push.muted(when));
    if (push.status === "queued") return row("push", "warn", check.push.queued(when, reason));
    return row("push", "bad", check.push.failed(when, reason));
}
