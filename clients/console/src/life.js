// The hops of a push, in the order of their times, from what the relay knows of it.
import { counted } from "./format.js";

/** Hops `{ name, tone, at, text, after }`; `after` is the time since the push was made, in milliseconds. */
export function life(push, event, now) {
    const hops = [{ name: "Received", tone: "good", at: push.receivedAt, text: "" }];
    const add = (name, tone, at, text = "") => hops.push({ name, tone, at, text });
    if (push.response === "queued") add("Queued", "warn", push.waiting?.createdAt ?? push.receivedAt, push.responseReason);
    else if (push.waiting && !push.response) add("Queued", "warn", push.waiting.createdAt);
    if (push.waiting) {
        const { attempts, isLeased, dueAt, expiresAt } = push.waiting;
        if (isLeased) add("Being sent", "warn", undefined, `after ${counted(attempts, "attempt", "attempts")}`);
        else add(dueAt <= now ? "Due" : "Next attempt", "warn", dueAt, `after ${counted(attempts, "attempt", "attempts")}`);
        add("Given up", "", expiresAt, "if it isn't sent by then");
    }
    if (push.ended) {
        if (push.ended.status === "sent") add("Sent", "good", push.ended.at, "The push service accepted it.");
        else add("Failed", "bad", push.ended.at, push.ended.reason);
    } else if (push.response === "sent") {
        add("Sent", "good", undefined, "The push service accepted it, as the response says; the delivery log has no row.");
    } else if (push.response === "failed") {
        add("Failed", "bad", undefined, push.responseReason);
    } else if (push.response === "queued" && !push.waiting) {
        add("Ended", "", undefined, "It no longer waits, and the delivery log has no row among the latest.");
    }
    if (push.isDeviceRemoved) add("Device removed", "bad", undefined, "The push service no longer knows it.");
    if (event?.acknowledgedAt) add("Acknowledged", "good", event.acknowledgedAt);
    if (event?.repliedAt) add("Replied", "good", event.repliedAt);
    if (event?.resultAt) add("Result reported", "good", event.resultAt, "The sender said what became of the reply.");
    // Hops without a time stay behind the hop before them.
    let last = -Infinity;
    const placed = hops.map((hop) => ({ hop, time: (last = Math.max(last, hop.at ?? last)), own: hop.at ?? last }));
    placed.sort((one, two) => (one.hop.at === undefined ? one.time : one.own) - (two.hop.at === undefined ? two.time : two.own));
    return placed.map(({ hop }) => ({ ...hop, after: hop.at === undefined || hop.at === push.receivedAt || push.receivedAt === undefined ? undefined : hop.at - push.receivedAt }));
}
