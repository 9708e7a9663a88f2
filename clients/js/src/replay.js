import { isObject } from "./json.js";

const entriesMax = 200;
const ttlDefault = 86_400;
const clockLeeway = 300;

/**
 * Recognises envelopes that were shown before or are out of date (docs/reference/encryption.md, Replays).
 *
 * Check only when a notification is about to be shown, not when it is opened again after a tap.
 */
export class Replay {
    #store;
    #now;
    #last = Promise.resolve();

    /**
     * `store` keeps one string of at most about 30 KB per key: `get(name)` and `set(name, value)`. It isn't secret.
     * `now` returns seconds since 1970.
     */
    constructor(store, { now = () => Date.now() / 1000 } = {}) {
        this.#store = store;
        this.#now = now;
    }

    /** Returns `fresh` and remembers the content, or returns `stale` or `repeated`. */
    check({ content, keys }) {
        const result = this.#last.then(() => this.#check(content, keys.id));
        this.#last = result.catch(() => {});
        return result;
    }

    async #check({ eventID, sentAt, ttl = ttlDefault }, keyID) {
        if (this.#now() > sentAt + ttl + clockLeeway) return "stale";
        const name = `apn-relay.replay.${keyID}`;
        const record = this.#read(await this.#store.get(name));
        if (sentAt <= record.floor || record.seen.some(([id]) => id === eventID)) return "repeated";
        record.seen.push([eventID, sentAt]);
        if (record.seen.length > entriesMax) {
            record.seen.sort(([, one], [, other]) => one - other);
            record.floor = record.seen.shift()[1];
        }
        await this.#store.set(name, JSON.stringify(record));
        return "fresh";
    }

    /** A damaged record has lost what was seen, so a new one starts with the current time as its floor. */
    #read(text) {
        if (text === undefined || text === null) return { floor: -1, seen: [] };
        try {
            const record = JSON.parse(text);
            const isEntry = (entry) => typeof entry[0] === "string" && Number.isFinite(entry[1]);
            if (isObject(record) && Number.isFinite(record.floor) && record.seen.every(isEntry)) return record;
        } catch {
            // Not a record.
        }
        return { floor: Math.floor(this.#now()), seen: [] };
    }
}
