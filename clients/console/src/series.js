// The last hour, from the relay's samples of 10 seconds.

const minute = 60_000;
const length = 60;
const lists = ["events", "apns", "webPush", "settled", "responses", "attempts"];
const gauges = ["waiting", "oldestDueAge", "connections", "pushesInFlight"];

const sum = (left, right) => Array.from({ length: Math.max(left.length, right.length) }, (_, place) => (left[place] ?? 0) + (right[place] ?? 0));

/** The total of a list. */
export const total = (numbers) => numbers.reduce((all, number) => all + number, 0);

/** The samples that the page has; adding samples from another relay process starts over. */
export class Hour {
    #samples = [];
    #startedAt;

    /** The number of the newest sample; the relay is to send only newer ones. */
    get newest() {
        return this.#samples.at(-1)?.number ?? 0;
    }

    /** Adds a response from the relay; false if samples are missing because the relay restarted: ask again. */
    add({ startedAt, samples }) {
        const isSame = this.#startedAt === startedAt;
        const lacksSome = !isSame && this.newest > 0;
        if (!isSame) this.#samples = [];
        this.#startedAt = startedAt;
        if (lacksSome) return false;
        this.#samples = [...this.#samples, ...samples.filter(({ number }) => number > this.newest)].slice(-360);
        return true;
    }

    /** The last 60 minutes up to the newest sample, oldest first; undefined for times before the relay started. */
    minutes() {
        const end = this.#samples.at(-1)?.time ?? 0;
        const minutes = Array.from({ length }, () => undefined);
        for (const sample of this.#samples) {
            const place = length - 1 - Math.floor((end - sample.time) / minute);
            // From a clock that was set, or from more than an hour ago.
            if (place < 0 || place >= length) continue;
            const before = minutes[place];
            const merged = { time: end - (length - 1 - place) * minute, limited: (before?.limited ?? 0) + sample.limited };
            for (const name of lists) merged[name] = sum(before?.[name] ?? [], sample[name]);
            for (const name of gauges) merged[name] = Math.max(before?.[name] ?? 0, sample[name]);
            minutes[place] = merged;
        }
        return minutes;
    }
}

/** A quantile of a histogram in the unit of its bounds; undefined without values. If it lies beyond the last bound, that bound. */
export function quantile(counts, bounds, share) {
    const all = total(counts);
    if (all === 0) return undefined;
    let left = share * all;
    for (const [place, number] of counts.entries()) {
        if (number === 0 || left > number) {
            left -= number;
            continue;
        }
        if (place >= bounds.length) return bounds.at(-1);
        const low = place === 0 ? 0 : bounds[place - 1];
        return low + (bounds[place] - low) * (left / number);
    }
    return bounds.at(-1);
}

/** A round number of at least `value`, for the end of an axis. */
export function roundUp(value) {
    if (value <= 0) return 1;
    const size = 10 ** Math.floor(Math.log10(value));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((factor) => Number((factor * size).toPrecision(3))).find((number) => number >= value * 0.999999);
}
