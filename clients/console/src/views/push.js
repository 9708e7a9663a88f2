// One notification's life, hop by hop.
import { ask } from "../api.js";
import { fill, h } from "../dom.js";
import { counted, duration, moment } from "../format.js";
import { life } from "../life.js";
import { badge, other, section } from "../table.js";

export const title = "Find a push";
export const interval = 30_000;

export function make({ parameter, second, go }) {
    const id = h("input", { id: "id", required: true, autocomplete: "off", spellcheck: "false", value: parameter ?? "", placeholder: "eventID, apns-id or end of a token" });
    const secret = h("input", { id: "secret", autocomplete: "off", spellcheck: "false", value: second ?? "", placeholder: "digits of its hash, if known" });
    const found = h("div", { class: "stack" });
    const search = (event) => {
        event.preventDefault();
        go(`#/push/${encodeURIComponent(id.value.trim())}${secret.value.trim() ? `/${encodeURIComponent(secret.value.trim().replace(/…$/, ""))}` : ""}`);
    };
    const query = parameter && `v1/admin/push?id=${encodeURIComponent(parameter)}${second ? `&secret=${encodeURIComponent(second)}` : ""}`;
    return {
        element: h("div", { class: "stack" }, section("What to look for",
            h("p", { class: "quiet" }, "The sender's eventID, the apns-id of a response or log line, or the last characters of a device's token. Name the tenant, or the relay searches those of its latest requests."),
            h("form", { class: "row", onsubmit: search }, h("label", { for: "id" }, "ID"), id, h("label", { for: "secret" }, "Tenant"), secret, h("button", { class: "button primary", type: "submit" }, "Find"))), found),
        load: async (signal) => query ? ask(query, { signal }) : undefined,
        update: (answer) => answer && fill(found, answer.found.length === 0 ? section("Nothing found", h("p", { class: "none" }, second
            ? "This tenant has no such event, push or device among its latest rows."
            : `${counted(answer.searched, "tenant has", "tenants have")} no such event, push or device among their latest rows. Name another tenant by its hash.`))
            : answer.found.map((one) => shown(one, answer.now))),
    };
}

function shown(finding, now) {
    const tenant = h("a", { href: `#/tenants/${finding.secretHash ?? finding.secret}` }, h("code", {}, `${finding.secret}…`));
    return h("section", { class: "card" },
        h("h2", {}, "Tenant ", tenant), finding.event && eventOf(finding.event),
        finding.pushes.map((push) => h("article", { class: "life" },
            h("h3", {}, h("code", {}, other(push.id)), push.device && [" to ", h("code", {}, other(push.device))]), hops(life(push, finding.event, now)))),
        finding.unmade.map((push) => h("article", { class: "life" }, h("h3", {}, "No push to ", h("code", {}, other(push.device))),
            h("p", {}, badge(push.response === "failed" ? "bad" : "", other([push.response, push.responseReason].filter(Boolean).join(": ")))))),
        finding.pushes.length + finding.unmade.length === 0 && h("p", { class: "none" }, "The event reached no device."));
}

const eventOf = ({ isInProgress }) => isInProgress && h("p", {}, badge("warn", "being sent"), " The event's response isn't there yet.");

function hops(list) {
    return h("ol", { class: "hops" }, list.map(({ tone, name, at, text, after }) => h("li", { class: tone },
        h("span", { class: "hop" }, name), h("time", {}, at === undefined ? "" : moment(at)), h("span", { class: "quiet" }, after === undefined ? "" : after > 0 ? `+${duration(after)}` : "+0 s"),
        h("span", {}, text && other(text)))));
}
