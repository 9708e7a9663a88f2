// The configuration in force, and the log level, which can be changed while the relay is running.
import { ask } from "../api.js";
import { fill, h } from "../dom.js";
import { badge, other, section, table } from "../table.js";

export const title = "Configuration";
export const interval = 30_000;

const levels = ["debug", "info", "warning", "error"];

export function make({ say }) {
    const only = h("input", { type: "checkbox", id: "only", onchange: () => draw() });
    const level = h("select", { id: "level" }, levels.map((name) => h("option", { value: name }, name)));
    const list = h("div", { class: "stack settings" });
    const apply = async (event) => {
        event.preventDefault();
        try {
            const answer = await ask("v1/log-level", { method: "PUT", body: { level: level.value } });
            say("good", `The log level is ${answer.level} until the relay restarts.`);
        } catch (failure) {
            say("bad", failure.message);
        }
    };
    const element = h("div", { class: "stack" },
        section("Log level", h("p", { class: "quiet" }, "Until the relay restarts; RELAY_LOG_LEVEL sets it for good. Request lines are logged at info."),
            h("form", { class: "row", onsubmit: apply }, h("label", { for: "level" }, "Minimum level"), level, h("button", { class: "button", type: "submit" }, "Change"))),
        h("label", { class: "row" }, only, "Only settings that differ from the default"), list);
    let settings = [];
    let isFirst = true;
    const draw = () => {
        const shown = settings.filter(({ place }) => place !== undefined || !only.checked);
        const groups = [...new Set(shown.map(({ group }) => group))];
        fill(list, groups.length === 0 ? h("p", { class: "none" }, "Every setting has its default.") : groups.map((group) => section(group, table(group,
            [{ name: "Setting" }, { name: "Value" }, { name: "Given as" }], shown.filter((one) => one.group === group).map(row), ""))));
    };
    return {
        element,
        load: async (signal) => ({ ...await ask("v1/admin/settings", { signal }), ...await ask("v1/log-level", { signal }) }),
        update: (answer) => {
            settings = answer.settings;
            // Later answers must not replace what the operator is about to choose.
            if (isFirst) level.value = answer.level;
            isFirst = false;
            draw();
        },
    };
}

function row({ name, value, place, isSecret, summary, default: unset }) {
    const shown = value ?? (isSecret && place !== undefined ? undefined : unset);
    return [
        h("div", { class: "setting" }, h("code", {}, name), h("p", { class: "quiet" }, summary)),
        shown === undefined ? badge("warn", "set, not shown") : place === undefined && value === undefined ? h("span", { class: "quiet" }, unset) : other(value, "code"),
        place === undefined ? h("span", { class: "quiet" }, "default") : other(place === name ? "environment" : place, "code"),
    ];
}
