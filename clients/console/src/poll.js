// Polls while the page is visible, less often while the relay isn't answering.

const longest = 60_000;

/** How long to wait after a number of failures in a row. */
export const delay = (interval, failures) => Math.min(interval * 2 ** failures, Math.max(longest, interval));

export class Poll {
    #load;
    #interval;
    #failures = 0;
    #timer;
    #abort;
    #isStopped = false;
    #onvisible = () => {
        if (!document.hidden && this.#timer) this.now();
    };

    /** `load` gets an `AbortSignal`; it is called at once, then `interval` after each answer. */
    constructor(interval, load) {
        this.#interval = interval;
        this.#load = load;
        document.addEventListener("visibilitychange", this.#onvisible);
        this.now();
    }

    /** Polls now. */
    async now() {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        this.#abort?.abort();
        const abort = (this.#abort = new AbortController());
        const isDone = await this.#load(abort.signal, () => delay(this.#interval, this.#failures + 1));
        if (this.#isStopped || abort.signal.aborted) return;
        this.#failures = isDone ? 0 : this.#failures + 1;
        this.#wait();
    }

    stop() {
        this.#isStopped = true;
        clearTimeout(this.#timer);
        this.#abort?.abort();
        document.removeEventListener("visibilitychange", this.#onvisible);
    }

    #wait() {
        this.#timer = setTimeout(() => {
            // A hidden page waits until it is visible.
            if (!document.hidden) this.now();
        }, delay(this.#interval, this.#failures));
    }
}
