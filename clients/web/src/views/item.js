// One notification in full, and its answer.
import { answer, follow, isFinal, outcomeElsewhere } from "../answering.js";
import { confirm, fill, foreign, h, refill } from "../dom.js";
import { icon, typeIcon } from "../icons.js";
import { isOver, kindOf, offeredActions, protectionOf, sessionOf } from "../items.js";
import { items } from "../store.js";
import { texts } from "../texts.js";
import { answeredPart, newDrafts, questionForm } from "./questions.js";

const watchSeconds = 25;
/** Browsers fire longer timers at once. */
const timerMillisecondsMax = 2 ** 31 - 1;
const hiddenNames = ["readAt", "isReadUntold", "historyID", "receivedAt", "keys", "request"];

/** The view of the item with a key. */
export function itemView(app, { id: key, announce }) {
    const content = h("article", { class: "item" });
    const stop = new AbortController();
    let drawn;
    let note = "";
    let written = "";
    let drafts;
    let timer;

    function update() {
        const item = app.items.find((item) => item.key === key);
        // Changes that aren't shown don't redraw, so that nobody is interrupted.
        const state = JSON.stringify([item, app.pairing(item?.pairing)?.name, item && isOver(item)],
            (name, value) => (hiddenNames.includes(name) ? undefined : value));
        if (state === drawn) return;
        const isFirst = drawn === undefined || drawn.startsWith("[null,");
        const before = drawn && JSON.parse(drawn)[0]?.reply?.fate;
        drawn = state;
        if (!item) return void fill(content, h("h1", { tabindex: "-1" }, texts.item.missingTitle), h("p", {}, texts.item.missingText));
        draw(item);
        if (item.reply && item.reply.fate !== before) announce(texts.fateOf(item.reply));
        if (isFirst) open(item);
    }

    /** The answers disappear when the sender stops waiting for one. */
    function redrawAtEnd({ asked }) {
        const milliseconds = asked?.end === undefined ? 0 : asked.end * 1000 - Date.now();
        if (milliseconds > 0 && milliseconds < timerMillisecondsMax) timer = setTimeout(() => app.changed(), milliseconds);
    }

    /** Opening the item closes its notification; others may already have answered it. */
    function open(item) {
        redrawAtEnd(item);
        void app.markRead([item]);
        void app.closeNotification(key);
        const pairing = app.pairing(item.pairing);
        if (item.reply && !isFinal(item.reply.fate)) void follow({ item, pairing, signal: stop.signal }).catch(() => {});
        else if (!item.reply && !item.outcome && offeredActions(item, pairing).length > 0) void watch(item, pairing);
    }

    async function watch(item, pairing) {
        for (let timeout = 0; !stop.signal.aborted && !document.hidden; timeout = watchSeconds) {
            const begin = Date.now();
            const known = await outcomeElsewhere({ item, pairing, timeout, signal: stop.signal })
                .catch((error) => ({ fate: error.code === "unknown_event" ? "expired" : undefined }));
            const now = await items.get(key);
            if (!now || now.reply) return;
            if (known) return void (known.fate && await items.update(key, () => ({ outcome: known })));
            // A relay that doesn't wait must not be polled constantly.
            if (timeout > 0 && Date.now() - begin < timeout * 500) return;
        }
    }

    async function send(action) {
        const item = await items.get(key);
        const { confirmAlways: title, confirmAlwaysText: text } = texts.item;
        const question = { title, text, action: texts.action(action), cancel: texts.cancel, isDangerous: false };
        if (action === "always" && !(await confirm(question))) return;
        const pairing = app.pairing(item.pairing);
        const words = { reject: note, write: written }[action] ?? "";
        await answer({ item, pairing, action, text: words }).catch((error) => announce(texts.failed(texts.reasonOf(error))));
    }

    /** Returns what went wrong before anything was sent. */
    async function sendAnswers(answers) {
        const item = await items.get(key);
        try {
            await answer({ item, pairing: app.pairing(item.pairing), action: "answer", answers });
            return undefined;
        } catch (error) {
            return error.reason === "tooLarge" ? texts.questions.tooLong : texts.failed(texts.reasonOf(error));
        }
    }

    function draw(item) {
        const pairing = app.pairing(item.pairing);
        const general = texts.general(item.type);
        const protection = protectionOf(item);
        const actions = offeredActions(item, pairing);
        const isRequest = item.type === "permission" || item.actions.length > 0 || item.asked?.questions.length > 0;
        refill(content,
            h("p", { class: "kicker", "data-type": item.type }, typeIcon(kindOf(item)), h("span", {}, texts.kind(kindOf(item))),
                h("time", { datetime: new Date(item.at).toISOString() }, texts.when(item.at))),
            foreign("h1", { id: "item-title", tabindex: "-1" }, item.title ?? general.title),
            item.subtitle && foreign("p", { class: "subtitle" }, item.subtitle),
            item.replay && h("p", { class: "note" }, texts.item.replayNote[item.replay]),
            item.asked?.isCut && h("p", { class: "note" }, texts.item.cut),
            isRequest ? request(item, general, hasForm(item, actions) && !item.reply && !item.outcome)
                : foreign("div", { class: "text" }, item.body ?? general.body),
            isRequest && answerPart(item, pairing, actions),
            details(item, pairing, protection));
    }

    function answerPart(item, pairing, actions) {
        if (item.reply) return fatePart(item, pairing);
        if (item.outcome) {
            return h("div", { class: "fate", "data-fate": item.outcome.fate }, icon("notify"), h("p", {}, texts.fateOf(item.outcome)));
        }
        if (isOver(item)) return h("p", { class: "note" }, texts.item.over(texts.when(item.asked.end * 1000)));
        if (actions.length === 0) {
            const isForged = pairing?.keys && !item.isOpened && item.actions.length > 0;
            return h("p", { class: "note" }, isForged ? texts.item.notAuthentic : texts.item.cannotAnswer);
        }
        const buttons = actions.filter((action) => action !== "write" && (action !== "answer" || !hasForm(item, actions)));
        const isBesideChoices = buttons.some((action) => action !== "reject");
        const own = actions.includes("write") && writeForm(isBesideChoices);
        return h("section", { class: "answer", "aria-labelledby": "answer-title" },
            h("h2", { id: "answer-title" }, texts.item.answerHeading),
            hasForm(item, actions) && questionForm(item.asked.questions, drafts ??= newDrafts(item.asked.questions), sendAnswers),
            !isBesideChoices && own,
            buttons.length > 0 && h("div", { class: "buttons answers" }, ...buttons.map(actionButton)),
            isBesideChoices && own,
            actions.includes("reject") && noteField());
    }

    function actionButton(action) {
        const kind = action === "once" ? "button primary" : action === "reject" ? "button danger" : "button";
        const onclick = ({ currentTarget }) => {
            // One answer counts, so a second click must not send another. `always` asks first.
            for (const button of currentTarget.parentElement.children) button.disabled = action !== "always";
            void send(action);
        };
        const attributes = { id: `action-${action}`, class: kind, type: "button", "data-action": action, dir: "auto", onclick };
        return h("button", attributes, texts.action(action));
    }

    /** An answer in the person's own words: the only one, or beside choices. */
    function writeForm(isBesideChoices) {
        const { own, ownOnly, missing } = texts.questions;
        const problem = h("p", { id: "write-problem", class: "problem", role: "alert" });
        const submit = h("button", { id: "action-write", class: "button primary", type: "submit", "data-action": "write" }, texts.action("write"));
        const onsubmit = (event) => {
            event.preventDefault();
            if (written.trim() === "") return fill(problem, missing({ options: [], allowsText: true }));
            // One answer counts, so a second click must not send another.
            for (const button of content.querySelectorAll(".answer button")) button.disabled = true;
            return void send("write");
        };
        const input = h("textarea", { id: "write", rows: "3", maxlength: "1000", "aria-describedby": problem.id,
            oninput: ({ target }) => (written = target.value) }, written);
        return h("form", { class: "questions", novalidate: true, onsubmit },
            h("label", { class: "field" }, h("span", {}, isBesideChoices ? own : ownOnly), input), problem, submit);
    }

    function noteField() {
        const oninput = ({ target }) => (note = target.value);
        return h("details", { open: note !== "" }, h("summary", {}, texts.item.note),
            h("label", { class: "field" }, h("span", {}, texts.item.noteLabel),
                h("textarea", { id: "note", rows: "2", maxlength: "1000", oninput }, note)));
    }

    function fatePart(item, pairing) {
        const { reply } = item;
        const isWaiting = !isFinal(reply.fate) && reply.fate !== "unsent";
        const retry = async ({ currentTarget }) => {
            currentTarget.disabled = true;
            await follow({ item, pairing, signal: stop.signal });
        };
        return h("div", { class: "fate", "data-fate": reply.fate },
            isWaiting ? h("span", { class: "spinner" }) : icon(reply.fate === "taken" ? "complete" : "error"),
            h("div", {}, foreign("strong", {}, texts.list.answered(reply.action)), h("p", {}, texts.fateOf(reply)),
                reply.answers && item.asked && answeredPart(item.asked.questions, reply.answers),
                reply.fate === "unsent" && h("button", { class: "button small", type: "button", onclick: retry }, texts.fate.retry)));
    }

    function details(item, pairing, protection) {
        const rows = [
            [texts.item.sent, h("time", { datetime: new Date(item.at).toISOString() }, texts.date(item.at))],
            [texts.item.pairing, pairing && foreign("span", {}, pairing.name)],
            [texts.item.session, item.sessionID && foreign("code", {}, item.sessionID)],
            [texts.item.protection, h("span", { class: `protection ${protection}` }, protection === "sealed" && icon("lock"),
                texts.protection[protection])],
        ];
        const filter = () => {
            app.filter = { session: sessionOf(item) };
            location.hash = "#/";
            app.changed();
        };
        return h("section", { class: "details", "aria-label": texts.item.details },
            h("dl", {}, ...rows.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
            item.sessionID && h("button", { class: "button small", type: "button", onclick: filter }, texts.item.filterSession));
    }

    return { element: content, update, title: () => app.items.find((item) => item.key === key)?.title, dispose: () => {
        stop.abort();
        clearTimeout(timer);
    } };
}

/** Whether an item is answered with a form. */
function hasForm({ asked }, actions) {
    return asked?.questions.length > 0 && actions.includes("answer");
}

/** What is asked, in full: a diff's lines are distinguished by their sign and, visually, by colour. Beside a form, it is collapsed. */
function request(item, general, isFolded) {
    const lines = (item.body ?? general.body).split("\n");
    const isDifference = lines.length > 1 && lines.filter((line) => /^[+-]/.test(line)).length > 0;
    const kind = (line) => (isDifference && /^\+/.test(line) ? "added" : isDifference && /^-/.test(line) ? "removed" : undefined);
    // In logical order: letters that run from right to left could otherwise change the order in which a command's words appear.
    const order = isFolded ? { dir: "auto" } : { dir: "ltr", class: "literal" };
    const code = h("pre", { tabindex: "0", ...order }, h("code", {}, ...lines.map((line) => h("span", { class: kind(line) }, line))));
    if (isFolded) return h("details", { class: "request" }, h("summary", {}, texts.item.asText), code);
    return h("section", { class: "request", "aria-label": texts.item.request }, h("h2", {}, texts.item.request), code,
        item.body === undefined && h("p", { class: "note" }, texts.item.onlyGeneral));
}
