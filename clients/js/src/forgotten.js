import { Pairing } from "./pairing.js";

const slotsMax = 8;
const lifetime = 30 * 86_400_000; // milliseconds

/**
 * The pairings whose devices are still to be unregistered, in a store for secrets: one entry per pairing, since a Keychain
 * entry holds 2 KB. The pairings' keys aren't kept, only what the relay needs.
 */
export class Forgotten {
    #store;
    #now;

    constructor(store, now) {
        this.#store = store;
        this.#now = now;
    }

    /** Remembers a pairing. Returns whether there was room. */
    async add(pairing) {
        const entries = await this.#entries();
        let slot = entries.findIndex((entry) => entry?.pairing.id === pairing.id);
        if (slot < 0) slot = entries.indexOf(undefined);
        if (slot < 0) return false;
        const { hosts, serverID, relayURL, relaySecret } = pairing;
        const link = JSON.stringify({ v: 1, serverID, relayURL, relaySecret, hosts });
        await this.#store.set(nameOf(slot), JSON.stringify({ link, since: this.#now() }));
        return true;
    }

    async remove(id) {
        const entries = await this.#entries();
        for (const [slot, entry] of entries.entries()) {
            if (entry?.pairing.id === id) await this.#store.set(nameOf(slot), "");
        }
    }

    /** `{ pairing, isOld }` for each pairing. */
    async list() {
        const isOld = ({ since }) => Math.abs(this.#now() - since) > lifetime;
        return (await this.#entries()).filter(Boolean).map((entry) => ({ pairing: entry.pairing, isOld: isOld(entry) }));
    }

    #entries() {
        return Promise.all(Array.from({ length: slotsMax }, (_, slot) => this.#entry(slot)));
    }

    /** An entry that can't be read counts as empty. */
    async #entry(slot) {
        const text = await this.#store.get(nameOf(slot));
        try {
            const { link, since } = JSON.parse(text);
            return Number.isFinite(since) ? { pairing: await Pairing.parse(link), since } : undefined;
        } catch {
            return undefined;
        }
    }
}

function nameOf(slot) {
    return `apn-relay.forgotten.${slot}`;
}
