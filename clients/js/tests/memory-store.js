/** A store as an app supplies it, with promises. */
export class MemoryStore {
    entries = new Map();

    async get(name) {
        return this.entries.get(name) ?? null;
    }

    async set(name, value) {
        this.entries.set(name, value);
    }
}
