// Reads a pairing code with the camera, for apps on home screens: the system's camera opens codes in the browser, which has another store.
import { canScan, scan } from "../camera.js";
import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { PairingError } from "../library.js";
import { readLink } from "../link.js";
import { texts } from "../texts.js";

const scanMilliseconds = 120_000;
const words = texts.scan;

/** A button that starts the camera, if the browser can read codes. `found` gets the link; `stop` stops the camera. */
export function scanPart({ announce, found }) {
    const element = h("div", { class: "scan", hidden: true });
    let stopping = new AbortController();

    function offer(problem) {
        const button = h("button", { id: "scan", class: "button", type: "button", onclick: () => void run() }, icon("camera"), words.start);
        fill(element, button, h("p", { class: "problem", role: "alert" }, problem));
        return button;
    }

    async function run() {
        const stop = stopping = new AbortController();
        const video = h("video", { muted: true, playsinline: true, "aria-label": words.picture });
        const hint = h("p", { class: "quiet", role: "status" }, words.hint);
        const cancel = h("button", { class: "button", type: "button", onclick: () => stop.abort() }, texts.cancel);
        fill(element, video, hint, cancel);
        cancel.focus();
        const stopIfHidden = () => document.hidden && stop.abort();
        document.addEventListener("visibilitychange", stopIfHidden);
        let problem;
        const timer = setTimeout(() => {
            problem = words.nothing;
            stop.abort();
        }, scanMilliseconds);
        const accept = async (text) => {
            const isPairing = await hasPairing(text);
            if (!isPairing) fill(hint, words.other);
            return isPairing;
        };
        try {
            const text = await scan(video, { accept, signal: stop.signal });
            if (text !== undefined && !stop.signal.aborted) return void found(text);
        } catch (error) {
            if (!stop.signal.aborted) problem = words.problems[error?.name] ?? words.problems.other;
        } finally {
            clearTimeout(timer);
            document.removeEventListener("visibilitychange", stopIfHidden);
        }
        if (!element.isConnected) return undefined;
        offer(problem).focus();
        return problem && announce(problem);
    }

    void canScan().then((can) => {
        element.hidden = !can;
        if (can) offer();
    });
    return { element, stop: () => stopping.abort() };
}

/** Whether a code contains a pairing, even a damaged one, which is then explained. */
function hasPairing(text) {
    return readLink(text).then(() => true, (error) => error instanceof PairingError && error.reason !== "notPairing");
}
