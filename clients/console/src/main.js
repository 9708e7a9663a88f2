// The shell: views by their addresses, signing in, and messages to the operator.
import { Failure, token } from "./api.js";
import { fill, h } from "./dom.js";
import { duration, moment } from "./format.js";
import { Poll } from "./poll.js";
import * as apps from "./views/apps.js";
import * as overview from "./views/overview.js";
import * as push from "./views/push.js";
import * as queue from "./views/queue.js";
import * as settings from "./views/settings.js";
import * as tenants from "./views/tenants.js";

const views = { "": overview, tenants, push, queue, apps, settings };

const nav = h("nav", { "aria-label": "Views" });
const live = h("p", { class: "live", role: "status" });
const leave = h("button", { class: "plain", type: "button", onclick: () => {
    token.forget();
    location.reload();
} }, "Sign out");
const notices = h("div", { class: "notices", "aria-live": "polite" });
const main = h("main", { id: "main", tabindex: "-1" });
let poll;

/** Tells the operator what was done, until the next message. */
function say(tone, text) {
    fill(notices, h("p", { class: `banner ${tone}` }, text));
}

function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

function go() {
    const [, name = "", parameter, second] = location.hash.split("/").map(decoded);
    const view = views[name] ?? overview;
    poll?.stop();
    fill(notices);
    fill(nav, Object.entries(views).map(([key, { title }]) => h("a", { href: `#/${key}`, "aria-current": views[key] === view && "page" }, title)));
    nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    document.title = `${view.title} – Relay console`;
    const { element, load, update } = view.make({ say, parameter, second, again: () => poll.now(), go: (hash) => {
        if (location.hash === hash) poll.now();
        else location.hash = hash;
    } });
    const problem = h("div", {});
    const waiting = h("p", { class: "none" }, "Asking the relay…");
    fill(main, h("h1", { tabindex: "-1" }, view.title), problem, waiting);
    leave.hidden = !token.get();
    let isShown = false;
    poll = new Poll(view.interval, async (signal, next) => {
        try {
            const answer = await load(signal);
            if (!isShown) fill(main, h("h1", { tabindex: "-1" }, view.title), problem, element);
            isShown = true;
            fill(problem);
            update(answer);
            main.classList.remove("stale");
            live.className = "live good";
            fill(live, `Updated ${moment(Date.now())}`);
            return true;
        } catch (error) {
            if (error.name === "AbortError") return true;
            if (error.status === 401) return void signIn(token.get() ? "The relay refuses this token." : "");
            // A fault of the page; it must not end the polling.
            if (!(error instanceof Failure)) reportError(error);
            waiting.remove();
            main.classList.toggle("stale", isShown);
            live.className = "live bad";
            fill(live, isShown ? `${live.textContent.replace(/^Last u|^U/, "Last u")}` : "No answer yet");
            fill(problem, h("p", { class: "banner bad", role: "alert" }, h("strong", {}, error instanceof Failure ? error.message : "This page can't show the relay's answer; load it again."), ` Trying again in ${duration(next())}.`));
            return false;
        }
    });
}

/** Asks for the token, which stays in this tab. */
function signIn(problem) {
    poll.stop();
    token.forget();
    leave.hidden = true;
    fill(nav);
    fill(live);
    live.className = "live";
    const field = h("input", { id: "token", type: "password", autocomplete: "current-password", required: true, "aria-describedby": "token-problem" });
    fill(main, h("form", { class: "card sign-in", onsubmit: async (event) => {
        event.preventDefault();
        token.set(field.value.trim());
        go();
    } }, h("h1", { tabindex: "-1" }, "Sign in"), h("p", { class: "quiet" }, "This relay has an admin token, RELAY_ADMIN_TOKEN. The page keeps it until you close the tab."),
    h("label", { for: "token" }, "Admin token"), field, h("p", { id: "token-problem", class: "bad" }, problem),
    h("button", { class: "button primary", type: "submit" }, "Sign in")));
    field.focus();
}

fill(document.body,
    h("a", { class: "skip", href: "#main", onclick: (event) => {
        event.preventDefault();
        main.focus();
    } }, "Skip to content"),
    h("header", {}, h("a", { class: "brand", href: "#/" }, h("img", { src: "icon.svg", alt: "", width: 28, height: 28 }), "Relay console"), nav, live, leave),
    notices, main);
addEventListener("hashchange", () => {
    go();
    main.querySelector("h1")?.focus();
});
go();
