// Tenants by their hashes: who was active, who is blocked, and what a tenant has. Blocks and revokes them.
import { ask } from "../api.js";
import { confirm, fill, h } from "../dom.js";
import { count, duration, moment } from "../format.js";
import { badge, other, section, table, when } from "../table.js";
import { transports } from "../words.js";

export const title = "Tenants";
export const interval = 10_000;

const link = ({ secret, secretHash }) => h("a", { href: `#/tenants/${secretHash ?? secret}` }, h("code", {}, `${secret}…`));
const number = (name) => ({ name, isNumber: true });

export function make({ parameter, say, again }) {
    return parameter ? one(parameter, say, again) : list();
}

function list() {
    const field = h("input", { id: "secret", name: "secret", required: true, autocomplete: "off", spellcheck: "false", placeholder: "8 or more digits of its hash" });
    const found = h("div", {});
    const recent = h("div", { class: "stack" });
    const search = async (event) => {
        event.preventDefault();
        const digits = field.value.trim().replace(/…$/, "");
        try {
            const answer = await ask(`v1/admin/tenants?secret=${encodeURIComponent(digits)}`);
            if (answer.found.length === 1) return void (location.hash = `#/tenants/${answer.found[0].secretHash ?? answer.found[0].secret}`);
            fill(found, answer.found.length === 0 ? h("p", { class: "none" }, "The database has no secret whose hash begins with these digits.")
                : h("ul", { class: "links" }, answer.found.map((tenant) => h("li", {}, link(tenant)))));
        } catch (failure) {
            fill(found, h("p", { class: "bad", role: "alert" }, failure.message));
        }
    };
    return {
        element: h("div", { class: "stack" }, section("Find a tenant",
            h("p", { class: "quiet" }, "By the hash of its secret, which log lines show as ", h("code", {}, "secret"), " and relay tenants lists."),
            h("form", { class: "row", onsubmit: search }, h("label", { for: "secret" }, "Hash"), field, h("button", { class: "button", type: "submit" }, "Find")), found), recent),
        load: (signal) => ask("v1/admin/tenants", { signal }),
        update: (answer) => fill(recent, shownList(answer)),
    };
}

function shownList({ recent, blocked, blockedCount, canChange }) {
    return [
        !canChange && readOnly(),
        section("Recently active", h("p", { class: "quiet" }, "The latest requests that this relay counted, also of secrets that no device has."),
            table("Recently active", [{ name: "Tenant" }, { name: "Last request" }, number("Events"), number("Other requests"), number("Refused by limits"), { name: "State" }],
                recent.map((tenant) => [link(tenant), when(tenant.at), count(tenant.events), count(tenant.others),
                    tenant.limited > 0 ? h("b", { class: "bad" }, count(tenant.limited)) : "0", tenant.isBlocked ? badge("bad", "blocked") : badge("good", "ok")]),
                "No tenant has sent a request since the relay started.")),
        section("Blocked", table("Blocked", [{ name: "Tenant" }, { name: "Since" }, { name: "Note" }],
            blocked.map((tenant) => [link(tenant), when(tenant.since), tenant.note ? other(tenant.note) : "–"]), "No secret is blocked."),
        blockedCount > blocked.length && h("p", { class: "quiet" }, `The latest ${count(blocked.length)} of ${count(blockedCount)}; relay block --list shows all.`)),
    ];
}

const readOnly = () => h("p", { class: "banner" }, "Set RELAY_ADMIN_TOKEN to block and revoke from here: without it, the page shows no whole hashes.");

function one(digits, say, again) {
    const element = h("div", { class: "stack" });
    const change = async (path, body, done) => {
        try {
            say("good", done(await ask(path, { method: "POST", body })));
        } catch (failure) {
            say("bad", failure.message);
        }
        again();
    };
    const block = async ({ secret, secretHash }) => {
        if (!await confirm({ title: `Block ${secret}…?`, cancel: "Cancel", action: "Block",
            text: "Every relay of this database refuses its events, notifications and registrations until you unblock it. Its devices stay registered." })) return;
        await change("v1/secret/block", { secretHash, note: "from the console" }, () => `${secret}… is blocked.`);
    };
    const revoke = async ({ secret, secretHash }) => {
        if (!await confirm({ title: `Revoke ${secret}…?`, cancel: "Cancel", action: "Revoke",
            text: "Removes its devices, queued pushes, schedules, history and replies. This can't be undone. Devices may register again with the same secret; block it to prevent that." })) return;
        await change("v1/secret/revoke", { secretHash }, ({ devices, pushes }) => `${secret}… is revoked: ${count(devices)} devices and ${count(pushes)} queued pushes were removed.`);
    };
    const revokeToken = async ({ secretHash }, { id, name }) => {
        if (!await confirm({ title: `Revoke the token ${name}?`, cancel: "Cancel", action: "Revoke", text: "Programs that use it are refused from now on. This can't be undone." })) return;
        await change("v1/token/revoke", { secretHash, tokenID: id }, ({ revoked }) => revoked > 0 ? `The token ${name} is revoked.` : `The token ${name} was gone already.`);
    };
    const unblock = ({ secret, secretHash }) => change("v1/secret/unblock", { secretHash }, () => `${secret}… is no longer blocked.`);
    return {
        element,
        load: (signal) => ask(`v1/admin/tenant?secret=${encodeURIComponent(digits)}`, { signal }),
        update: (answer) => fill(element, shownOne(answer, { block, revoke, unblock, revokeToken })),
    };
}

function shownOne(tenant, { block, revoke, unblock, revokeToken }) {
    const button = (text, tone, action) => h("button", { class: `button ${tone}`, type: "button", onclick: () => action(tenant) }, text);
    return [
        h("section", { class: "card" }, h("h2", {}, "Secret hash"), h("code", {}, tenant.secretHash ?? `${tenant.secret}…`),
            h("p", {}, tenant.block ? [badge("bad", "blocked"), ` since ${moment(tenant.block.since)}`, tenant.block.note && [": ", other(tenant.block.note)]] : badge("good", "not blocked")),
            tenant.canChange && h("div", { class: "row" }, tenant.block ? button("Unblock", "", unblock) : button("Block…", "danger", block), button("Revoke…", "danger", revoke))),
        !tenant.canChange && readOnly(),
        section("Devices", table("Devices", [{ name: "Device" }, { name: "App" }, { name: "Environment" }, { name: "Registered" }, { name: "Renewed" }],
            tenant.devices.map((one) => [h("code", {}, other(one.device)), one.app ? other(one.app) : transports[one.transport] ?? other(one.transport),
                one.transport === "webpush" ? "–" : other(one.environment), when(one.createdAt), when(one.updatedAt)]), "No device is registered.")),
        section("Queue", table("Queue", [{ name: "Push" }, { name: "Device" }, { name: "Event" }, number("Attempts"), { name: "Next attempt" }, { name: "Given up" }],
            tenant.waiting.map((push) => [pushLink(push, tenant), push.device ? h("code", {}, other(push.device)) : "–", other(push.eventType), count(push.attempts), due(push), when(push.expiresAt)]), "Nothing waits.")),
        section("Schedules", table("Schedules", [{ name: "Schedule" }, { name: "Next" }, { name: "Repeats" }, { name: "Last" }, { name: "Outcome" }, number("Skipped")],
            tenant.schedules.map(scheduleRow), "Nothing is scheduled.")),
        section("Access tokens", table("Access tokens", [{ name: "Token" }, { name: "Scope" }, { name: "Made" }, { name: "Last used" }, { name: "Expires" }, { name: "ID" },
            ...(tenant.canChange ? [{ name: "Change" }] : [])],
        tenant.tokens.map((one) => [other(one.name), other(one.scope), when(one.createdAt), one.usedAt ? when(one.usedAt) : "never", one.expiresAt ? when(one.expiresAt) : "never",
            h("code", {}, one.id), ...(tenant.canChange ? [h("button", { class: "button danger", type: "button", onclick: () => revokeToken(tenant, one) }, "Revoke token…")] : [])]), "There are no tokens.")),
        section("Latest results", h("p", { class: "quiet" }, "From the delivery log; RELAY_LOG says which results it keeps."),
            table("Latest results", [{ name: "Time" }, { name: "Event" }, { name: "Device" }, { name: "Result" }, { name: "Push" }], tenant.deliveries.map((row) => [
                when(row.at), other(row.eventType), row.device ? h("code", {}, other(row.device)) : h("span", { class: "quiet" }, "removed"),
                row.status === "sent" ? badge("good", "sent") : badge("bad", other(row.reason ?? "failed")), pushLink(row, tenant)]), "The delivery log has nothing.")),
    ];
}

/** A link to a push's life. */
export const pushLink = ({ id }, { secret, secretHash }) => h("a", { href: `#/push/${encodeURIComponent(id)}/${secretHash ?? secret}` }, h("code", {}, id.slice(0, 36)));

/** When a queued push is tried next. */
export const due = ({ isLeased, dueAt }) => isLeased ? badge("warn", "being sent") : dueAt <= Date.now() ? badge("bad", `due for ${duration(Date.now() - dueAt)}`) : `in ${duration(dueAt - Date.now())}`;

/** The cells of a schedule. */
export const scheduleRow = (one) => [h("code", {}, one.id), when(one.nextAt), one.isRepeated ? "yes" : "once", one.lastAt ? when(one.lastAt) : "–",
    one.lastOutcome ? other(one.lastOutcome) : "–", one.skipped > 0 ? h("b", { class: "bad" }, count(one.skipped)) : "0"];
