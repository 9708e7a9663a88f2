// What the relay is doing now and did in the last hour.
import { ask } from "../api.js";
import { chart, sparkline } from "../chart.js";
import { fill, h } from "../dom.js";
import { bytes, compact, count, counted, duration, moment, percent, shortDuration } from "../format.js";
import { Hour, quantile, total } from "../series.js";
import { badge, other, table } from "../table.js";
import { check, limits, transports } from "../words.js";

const million = 1e6;
const quantiles = [["median", "sent", 0.5], ["95%", "queued", 0.95], ["99%", "failed", 0.99]];

export const title = "Overview";
export const interval = 5_000;

export function make() {
    const hour = new Hour();
    const tiles = h("div", { class: "tiles" });
    const faults = h("div", {});
    const state = h("section", { class: "card" });
    const about = h("section", { class: "card" });
    const refused = h("section", { class: "card" });
    const latency = (heading, empty) => chart({ title: heading, kind: "lines", format: duration, axis: shortDuration, empty,
        series: quantiles.map(([name, tone]) => ({ name, tone })) });
    const pushes = chart({ title: "Pushes", note: "per minute, by result", kind: "bars", format: count, axis: compact, height: 220,
        empty: "No pushes in the last hour",
        series: ["sent", "queued", "failed", "muted"].map((name) => ({ name, tone: name })) });
    const transport = chart({ title: "Sent", note: "per minute, by transport", kind: "bars", format: count, axis: compact, empty: "Nothing sent in the last hour",
        series: [{ name: transports.apns, tone: "sent" }, { name: transports.webpush, tone: "other" }] });
    const events = chart({ title: "Events", note: "per minute", kind: "bars", format: count, axis: compact, empty: "No events in the last hour",
        series: [{ name: "accepted", tone: "sent" }, { name: "refused", tone: "queued" }, { name: "failed", tone: "failed" }] });
    const responses = latency("Response time of events", "No events in the last hour");
    const attempts = latency("Duration of a push", "No pushes in the last hour");
    const queue = chart({ title: "Queue", note: "pushes waiting", kind: "lines", format: count, axis: compact, empty: "Nothing waits", series: [{ name: "waiting", tone: "queued" }] });
    const age = chart({ title: "Age of the queue", note: "how long the oldest push has been due", kind: "lines", format: duration, axis: shortDuration, empty: "Nothing is overdue", series: [{ name: "oldest", tone: "failed" }] });
    const settled = chart({ title: "Queued pushes", note: "that ended, per minute", kind: "bars", format: count, axis: compact, empty: "None in the last hour",
        series: [{ name: "sent", tone: "sent" }, { name: "failed", tone: "failed" }] });
    const connections = chart({ title: "Connections", note: "of clients", kind: "lines", format: count, axis: compact, empty: "No connections", series: [{ name: "open", tone: "sent" }] });
    const element = h("div", { class: "stack" }, faults, tiles, pushes.element,
        h("div", { class: "grid" }, [events, transport, responses, attempts, queue, age, settled, connections].map((one) => one.element)),
        h("div", { class: "grid" }, state, h("div", { class: "stack" }, about, refused)));

    const load = async (signal) => {
        let answer = await ask(`v1/admin/overview?after=${hour.newest}`, { signal });
        if (!hour.add(answer)) {
            answer = await ask("v1/admin/overview", { signal });
            hour.add(answer);
        }
        return answer;
    };
    const update = (answer) => {
        const minutes = hour.minutes();
        const points = (read) => minutes.map((minute) => minute && { time: minute.time, values: read(minute) });
        const spread = (name) => points((minute) => quantiles.map(([, , share]) => inMilliseconds(quantile(minute[name], answer.bounds, share))));
        pushes.update(points(({ apns, webPush }) => apns.map((number, place) => number + webPush[place])));
        transport.update(points(({ apns, webPush }) => [apns[0], webPush[0]]));
        events.update(points((minute) => minute.events));
        responses.update(spread("responses"));
        attempts.update(spread("attempts"));
        queue.update(points(({ waiting }) => [waiting]));
        age.update(points(({ oldestDueAge }) => [oldestDueAge]));
        settled.update(points((minute) => minute.settled));
        connections.update(points((minute) => [minute.connections]));
        fill(faults, faultsOf(answer));
        fill(tiles, tilesOf(answer, minutes));
        fill(state, stateOf(answer));
        fill(about, aboutOf(answer));
        fill(refused, refusedOf(answer));
    };
    return { element, load, update };
}

const inMilliseconds = (nanoseconds) => nanoseconds === undefined ? undefined : nanoseconds / million;

function faultsOf({ checks }) {
    const bad = checks.map(check).filter(({ isGood }) => !isGood);
    return bad.length > 0 && h("div", { class: "banner bad", role: "alert" }, h("strong", {}, "The relay isn't ready."),
        h("ul", {}, bad.map(({ name, text }) => h("li", {}, h("b", {}, name), ": ", other(text)))));
}

function tilesOf(answer, minutes) {
    const known = minutes.filter(Boolean);
    const latest = minutes.at(-1);
    const all = (read) => known.reduce((sum, minute) => sum + read(minute), 0);
    const line = (read) => sparkline(minutes.map((minute) => minute && read(minute)));
    const results = (place) => ({ apns, webPush }) => apns[place] + webPush[place];
    const ended = all(results(0)) + all(results(2));
    const failed = all(results(2));
    const p95 = (minute) => inMilliseconds(quantile(minute.responses, answer.bounds, 0.95));
    const hour = inMilliseconds(quantile(known.reduce((sum, { responses }) => responses.map((number, place) => number + (sum[place] ?? 0)), []), answer.bounds, 0.95));
    const tile = (name, value, note, graph, tone) => h("div", { class: `tile ${tone ?? ""}` }, h("h2", {}, name),
        h("p", { class: "value" }, value), h("p", { class: "quiet" }, note), graph);
    return [
        tile("Events", latest ? `${count(total(latest.events))} / min` : "–", `${count(all((minute) => total(minute.events)))} in the last hour`, line(({ events }) => total(events))),
        tile("Pushes sent", latest ? `${count(results(0)(latest))} / min` : "–", `${count(all(results(0)))} in the last hour`, line(results(0))),
        tile("Failed pushes", ended === 0 ? "–" : percent(failed / ended), `${count(failed)} in the last hour`, line(results(2)), ended > 20 && failed / ended > 0.05 ? "bad" : ""),
        tile("Response, 95%", hour === undefined ? "–" : duration(hour), "events, last hour", line((minute) => p95(minute) ?? 0)),
        tile("Queue", count(answer.waiting), answer.oldestDueAge > 0 ? `oldest due for ${duration(answer.oldestDueAge)}` : `none is due; max ${compact(answer.waitingMax)}`,
            line(({ waiting }) => waiting), answer.oldestDueAge > 60_000 ? "bad" : ""),
        tile("Connections", count(answer.connections), `max ${compact(answer.connectionsMax)}`, line(({ connections }) => connections)),
    ];
}

function stateOf(answer) {
    const rows = answer.checks.map((one) => {
        const { name, text, isGood } = check(one);
        return [name, isGood ? badge("good", "ok") : badge("bad", "fault"), other(text)];
    });
    for (const { app, environment, fault } of answer.apps) {
        rows.push([other(app), fault ? badge("bad", "fault") : badge("good", "ok"),
            [environment, fault && [": APNs answers ", other(fault)]]]);
    }
    return [h("h2", {}, "Readiness"), table("Readiness", [{ name: "Check" }, { name: "State" }, { name: "Meaning" }], rows, "")];
}

function aboutOf(answer) {
    const facts = [
        ["Version", answer.version], ["Database", answer.database],
        ["Started", answer.startedAt && `${moment(answer.startedAt, answer.now)}, ${duration(answer.now - answer.startedAt)} ago`],
        ["Memory", answer.memory && bytes(answer.memory)],
        ["Open files", answer.openFiles && `${count(answer.openFiles)} of ${count(answer.openFilesMax)}`],
        ["In flight", `${counted(answer.pushesInFlight, "push", "pushes")} of at most ${count(answer.pushesInFlightMax)}`],
        ["Queued payloads", `${bytes(answer.waitingBytes)} of at most ${bytes(answer.waitingBytesMax)}`],
    ];
    return [h("h2", {}, "This relay"),
        h("dl", { class: "facts" }, facts.filter(([, text]) => text).map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))))];
}

function refusedOf({ totals, startedAt, now }) {
    const rows = Object.entries(totals.limits).sort((one, two) => two[1] - one[1]).map(([kind, number]) => [limits[kind] ?? kind, count(number)]);
    return [h("h2", {}, "Limits hit"), startedAt && h("p", { class: "quiet" }, `since the start ${duration(now - startedAt)} ago`),
        table("Limits hit", [{ name: "Limit" }, { name: "Refusals", isNumber: true }], rows, "No limit was hit.")];
}
