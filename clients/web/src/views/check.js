// "Why didn't it ring?"
import { fill, foreign, h } from "../dom.js";
import { diagnose } from "../diagnosis.js";
import { gatherFacts } from "../facts.js";
import { icon } from "../icons.js";
import { texts } from "../texts.js";

export function checkView(app, { announce }) {
    const { check } = texts;
    const result = h("div", { "aria-busy": "true" });
    const again = h("button", { class: "button", type: "button", onclick: () => void run() }, check.again);
    const element = h("div", { class: "check" }, h("a", { class: "back", href: "#/settings" }, icon("back"), texts.settings.heading),
        h("h1", { tabindex: "-1" }, check.heading), h("p", { class: "lead" }, check.intro), result, h("div", { class: "buttons" }, again));

    async function run() {
        again.disabled = true;
        result.setAttribute("aria-busy", "true");
        fill(result, h("p", { class: "quiet" }, h("span", { class: "spinner" }), check.running));
        await app.workerStarted;
        const rows = diagnose(await gatherFacts(app));
        const count = rows.filter(({ state }) => state === "bad").length;
        const summary = count > 0 ? check.bad(count) : check.good;
        fill(result, h("p", { class: `summary ${count > 0 ? "bad" : "good"}` }, icon(count > 0 ? "error" : "complete"), summary),
            h("ul", { class: "rows" }, ...rows.map((row) =>
            h("li", { "data-state": row.state, "data-row": row.id.split(" ")[0] },
                icon({ ok: "complete", bad: "error", warn: "notify", unknown: "question" }[row.state]),
                h("div", {}, h("strong", {}, row.title, row.name && foreign("span", { class: "quiet" }, ` · ${row.name}`)),
                    h("span", { class: "hidden" }, ` ${check.states[row.state]}. `),
                    foreign("p", {}, row.text), row.advice && h("p", { class: "advice" }, row.advice))))));
        result.removeAttribute("aria-busy");
        again.disabled = false;
        announce(summary);
    }
    void run();
    return { element, title: () => check.heading };
}
