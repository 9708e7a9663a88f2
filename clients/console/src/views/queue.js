// What is waiting: queued pushes, next due first, and schedules.
import { ask } from "../api.js";
import { fill, h } from "../dom.js";
import { count, counted, duration } from "../format.js";
import { badge, other, section, table, when } from "../table.js";
import { due, pushLink, scheduleRow } from "./tenants.js";

export const title = "Queue";
export const interval = 5_000;

const number = (name) => ({ name, isNumber: true });
const tenant = ({ secret, secretHash }) => h("a", { href: `#/tenants/${secretHash ?? secret}` }, h("code", {}, `${secret}…`));
const kinds = { schedule: "schedule", repeat: "repetition", held: "quiet hours", async: "accepted event" };

export function make({ again }) {
    const element = h("div", { class: "stack" });
    let [after, schedulesAfter] = ["", ""];
    const page = { pushes: (cursor) => (after = cursor, again()), schedules: (cursor) => (schedulesAfter = cursor, again()) };
    return {
        element,
        load: (signal) => ask(`v1/admin/queue?${new URLSearchParams({ ...after && { after }, ...schedulesAfter && { schedulesAfter } })}`, { signal }),
        update: (answer) => fill(element, shown(answer, { after, schedulesAfter, page })),
    };
}

function shown(answer, { after, schedulesAfter, page }) {
    const pages = (current, next, show) => (current || next) && h("div", { class: "row" },
        h("button", { class: "button small", type: "button", disabled: !current, onclick: () => show("") }, "First page"),
        h("button", { class: "button small", type: "button", disabled: !next, onclick: () => show(next) }, "Next page"));
    const outcomes = Object.entries(answer.occurrences);
    return [
        section("Queued pushes", h("p", { class: "quiet" }, answer.waiting === 0 && answer.pushes.length === 0 ? "Pushes that a push service can't accept now wait here."
            : `About ${counted(answer.waiting, "push is waiting", "pushes are waiting")} in the database, counting all its relays; ${answer.oldestDueAge > 0 ? `the oldest has been due for ${duration(answer.oldestDueAge)}` : "none is overdue"}.`),
        table("Queued pushes", [{ name: "Tenant" }, { name: "Push" }, { name: "Event" }, number("Attempts"), { name: "Next attempt" }, { name: "Received" }, { name: "Given up" }],
            answer.pushes.map((push) => [tenant(push), pushLink(push, push), other(push.eventType), count(push.attempts), due(push), when(push.createdAt), when(push.expiresAt)]), "Nothing waits."),
        pages(after, answer.next, page.pushes)),
        section("Schedules", h("p", { class: "quiet" }, answer.nextScheduleDue === undefined ? "No schedule is due." : answer.nextScheduleDue <= answer.now
            ? `The next one has been due for ${duration(answer.now - answer.nextScheduleDue)}.` : `The next one is due in ${duration(answer.nextScheduleDue - answer.now)}.`,
        outcomes.length > 0 && " Outcomes since the start:"),
        outcomes.length > 0 && h("p", { class: "row" }, outcomes.map(([name, value]) => badge(name === "sent" ? "good" : name === "failed" ? "bad" : "", `${name.replaceAll("_", " ")} ${count(value)}`))),
        table("Schedules", [{ name: "Tenant" }, { name: "Kind" }, { name: "ID" }, { name: "Next" }, { name: "Repeats" }, { name: "Last" }, { name: "Outcome" }, number("Skipped")],
            answer.schedules.toSorted((one, two) => one.nextAt - two.nextAt).map((one) => [tenant(one), kinds[one.kind] ?? other(one.kind), ...scheduleRow(one)]), "Nothing is scheduled."),
        pages(schedulesAfter, answer.nextSchedules, page.schedules)),
        answer.hasMore && !answer.next && !answer.nextSchedules && h("p", { class: "banner" }, "There is more. Set RELAY_ADMIN_TOKEN to turn pages here, or use relay queue and relay schedules."),
    ];
}
