// Apps and keys: results, faults, connections, and what expires.
import { ask } from "../api.js";
import { fill, h } from "../dom.js";
import { count, date, duration, percent } from "../format.js";
import { badge, other, section, table } from "../table.js";
import { transports } from "../words.js";

export const title = "Apps and keys";
export const interval = 10_000;

const day = 86_400_000;

export function make() {
    const element = h("div", { class: "stack" });
    return { element, load: (signal) => ask("v1/admin/apps", { signal }), update: (answer) => fill(element, shown(answer)) };
}

function shown(answer) {
    const [apps, keys] = [[], []];
    for (const app of answer.apps) {
        const sums = Object.fromEntries(["sent", "queued", "failed", "muted"].map((result) => [result,
            app.results.filter((one) => one.result === result).reduce((sum, one) => sum + one.count, 0)]));
        const ended = sums.sent + sums.failed;
        const reasons = app.results.filter(({ reason }) => reason).sort((one, two) => two.count - one.count).slice(0, 3);
        apps.push([
            app.transport === "webpush" ? transports.webpush : [other(app.app), app.app === answer.defaultApp && [" ", badge("", "default")]],
            app.transport === "webpush" ? "–" : app.environment, app.key ? h("code", {}, app.key) : "–",
            app.fault ? badge("bad", other(app.fault)) : ended > 0 ? badge("good", "ok") : badge("", "no pushes yet"),
            count(sums.sent), count(sums.queued), sums.failed > 0 ? h("b", { class: "bad" }, count(sums.failed)) : "0", count(sums.muted),
            ended > 0 ? percent(sums.sent / ended) : "–",
            reasons.map(({ result, reason, count: number }) => h("div", {}, other(reason), h("span", { class: "quiet" }, ` ${result}, ${count(number)}`))),
        ]);
    }
    for (const key of answer.keys) {
        keys.push([h("code", {}, key.key), h("code", {}, key.team), key.environment,
            key.open > 0 ? badge("good", `${count(key.open)} open`) : key.connecting > 0 ? badge("warn", "connecting") : badge("", "idle"),
            count(key.inFlight), count(key.waiting), count(key.opened), key.failed > 0 ? h("b", { class: "bad" }, count(key.failed)) : "0",
            Object.entries(key.goAways).map(([reason, number]) => h("div", {}, other(reason), h("span", { class: "quiet" }, ` ${count(number)}`)))]);
    }
    const number = (name) => ({ name, isNumber: true });
    return [
        section("Apps", h("p", { class: "quiet" }, "Results since the relay started. ",
            answer.acceptsAny && "The relay accepts every bundle ID of its team; only configured ones have rows of their own."),
        table("Apps", [{ name: "App" }, { name: "Environment" }, { name: "Key" }, { name: "State" }, number("Sent"), number("Queued"), number("Failed"), number("Muted"),
            number("Success"), { name: "Reasons" }], apps, "No app is configured, and Web Push is off.")),
        section("Keys of APNs", table("Keys", [{ name: "Key" }, { name: "Team" }, { name: "Environment" }, { name: "Connections" }, number("In flight"), number("Waiting"), number("Opened"),
            number("Failed"), { name: "GOAWAY" }], keys, "There is no key: the relay sends by Web Push only.")),
        section("What expires", h("dl", { class: "facts" }, expiries(answer).map(([name, ...text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))))),
    ];
}

function expiries({ certificateExpiry, webPushKey, keys }) {
    const left = certificateExpiry - Date.now();
    const certificate = certificateExpiry === undefined ? ["The relay has no certificate of its own: a proxy serves HTTPS."]
        : [date(certificateExpiry), " ", left < 0 ? badge("bad", "expired") : badge(left < 14 * day ? "bad" : left < 30 * day ? "warn" : "good", `in ${duration(left)}`)];
    return [
        ["Certificate", ...certificate],
        keys.length > 0 && ["APNs keys", "Never, until they are revoked at developer.apple.com."],
        webPushKey && ["Web Push key", h("code", {}, webPushKey), " never; browsers subscribe again if it changes."],
    ].filter(Boolean);
}
