// Numbers, durations and times as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const clockTime = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const exactTime = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** `12,345` */
export const count = (number) => whole.format(number);

/** `12.3K`, for axes. */
export const compact = (number) => short.format(number);

/** `1 push`, `2 pushes` */
export const counted = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

/** `4.2%`; a share that is neither 0 nor 1 never looks like it. */
export function percent(share) {
    if (share > 0 && share < 0.001) return "<0.1%";
    if (share < 1 && share > 0.999) return ">99.9%";
    return `${(share * 100).toFixed(share < 0.1 || share > 0.9 ? 1 : 0)}%`.replace(".0%", "%");
}

/** `850 µs`, `12 ms`, `1.4 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h` */
export function duration(milliseconds) {
    if (milliseconds <= 0) return "0 s";
    if (milliseconds < 1) return `${Math.round(milliseconds * 1_000)} µs`;
    if (milliseconds < 10) return `${Number(milliseconds.toFixed(1))} ms`;
    if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
    if (milliseconds < 10_000) return `${Number((milliseconds / 1_000).toFixed(1))} s`;
    const seconds = Math.round(milliseconds / 1_000);
    const parts = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]];
    const first = parts.findIndex(([size]) => seconds >= size);
    return parts.slice(first, first + 2).map(([size, unit], index) => {
        const number = index === 0 ? Math.floor(seconds / size) : Math.floor((seconds % parts[first][0]) / size);
        return index > 0 && number === 0 ? "" : `${number} ${unit}`;
    }).filter(Boolean).join(" ");
}

/** A duration with one unit, for axes: `1.5 min`. */
export function shortDuration(milliseconds) {
    if (milliseconds < 60_000) return duration(milliseconds);
    const [size, unit] = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"]].find(([least]) => milliseconds >= least);
    return `${Number((milliseconds / size).toFixed(1))} ${unit}`;
}

/** `1.5 MiB` */
export function bytes(number) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let place = 0;
    while (number >= 1_024 && place < units.length - 1) {
        number /= 1_024;
        place += 1;
    }
    return `${number < 10 && place > 0 ? number.toFixed(1) : Math.round(number)} ${units[place]}`;
}

/** `14:05` */
export const clock = (time) => clockTime.format(time);

/** Whether a number of the database is a time that calendars have. */
const isTime = (time) => Math.abs(time) <= 8.64e15;

/** `14:05:09`, with the day if it isn't today. */
export function moment(time, now = Date.now()) {
    if (!isTime(time)) return "–";
    const text = exactTime.format(time);
    return day.format(time) === day.format(now) ? text : `${day.format(time)}, ${text}`;
}

/** `27 Nov 2026` */
export const date = (time) => day.format(time);
