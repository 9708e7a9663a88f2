// Tells the relays that somebody is looking at the page, so that completed runs needn't ring.
import { post } from "./api.js";
import { installationID } from "./registration.js";

const everyMilliseconds = 60_000;
const seconds = 90;

export class Presence {
    #pairings;
    #page;
    #timer;
    #isLooking = false;
    /** The relays that don't know about presence. */
    #old = new Set();

    /** `pairings` returns the pairings to report to; `page` is the document. */
    constructor(pairings, page = document) {
        this.#pairings = pairings;
        this.#page = page;
    }

    /** Reports now and every minute while the page is visible, and once when it no longer is. Call it after each change. */
    async update() {
        const { hidden } = this.#page;
        if (hidden === !this.#isLooking) return;
        this.#isLooking = !hidden;
        clearInterval(this.#timer);
        if (!hidden) this.#timer = setInterval(() => void this.#report(seconds), everyMilliseconds);
        await this.#report(hidden ? 0 : seconds);
    }

    async #report(seconds) {
        const pairings = this.#pairings().filter(({ relayURL }) => !this.#old.has(relayURL));
        if (pairings.length === 0) return;
        const deviceID = await installationID();
        await Promise.all(pairings.map((pairing) => post(pairing, "/v1/presence", { seconds, deviceID }).catch(({ status }) => {
            if (status === 404) this.#old.add(pairing.relayURL);
        })));
    }
}
