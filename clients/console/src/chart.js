// A chart of an hour as SVG: bars on top of each other, or lines. The legend shows the values under the pointer.
import { fill, h, svg } from "./dom.js";
import { clock } from "./format.js";
import { roundUp } from "./series.js";

const [left, right, top, bottom] = [52, 10, 8, 22];
const last = (points, place) => points.findLast((point) => point?.values[place] !== undefined)?.values[place];

/**
 * A chart. `series` are `{ name, tone }`; `kind` is `bars` or `lines`. `update` takes points `{ time, values }`, oldest first, or undefined
 * where there is no data.
 */
export function chart({ title, note, series, kind, format, axis = format, empty, height = 180 }) {
    let points = [];
    let width = 0;
    let marked;
    const plot = h("div", { class: "plot" });
    const numbers = series.map(() => h("b", {}));
    const when = h("span", { class: "when" });
    const legend = h("ul", { class: "legend" },
        series.map(({ name, tone }, place) => h("li", {}, h("i", { class: `key ${tone}` }), name, " ", numbers[place])));
    const element = h("figure", { class: "card chart" },
        h("figcaption", {}, h("h2", {}, title), note && h("p", { class: "quiet" }, note), when), plot, legend);

    const show = () => {
        const point = points[marked];
        fill(when, marked === undefined ? "" : point ? clock(point.time) : "no data");
        for (const [place, number] of numbers.entries()) {
            const value = marked === undefined ? last(points, place) : point?.values[place];
            fill(number, value === undefined ? "–" : format(value));
        }
    };
    const draw = () => {
        if (width < 60) return;
        const [inner, tall] = [width - left - right, height - top - bottom];
        const known = points.filter(Boolean);
        const highest = Math.max(0, ...known.map(({ values }) => kind === "bars" ? values.reduce((all, value) => all + (value ?? 0), 0)
            : Math.max(0, ...values.map((value) => value ?? 0))));
        const end = roundUp(highest);
        const slot = inner / Math.max(points.length, 1);
        const x = (place) => left + place * slot;
        const y = (value) => top + tall - (value / end) * tall;
        const nodes = [];
        for (const share of highest > 0 ? [0, 0.5, 1] : [0]) {
            const at = Math.round(y(end * share)) + 0.5;
            nodes.push(svg("line", { class: share === 0 ? "base" : "rule", x1: left, x2: width - right, y1: at, y2: at }));
            nodes.push(svg("text", { x: left - 8, y: at + 3.5, "text-anchor": "end" }, axis(end * share)));
        }
        const latest = points.findLast(Boolean)?.time;
        if (latest) {
            for (const ago of [60, 45, 30, 15, 0]) {
                nodes.push(svg("text", { x: left + inner * (1 - ago / 60), y: height - 5, class: "time",
                    "text-anchor": ago === 60 ? "start" : ago === 0 ? "end" : "middle" }, clock(latest - ago * 60_000)));
            }
        }
        nodes.push(...(kind === "bars" ? bars(points, series, x, y, slot) : lines(points, series, x, y, slot)));
        if (highest === 0) nodes.push(svg("text", { class: "nothing", x: left + inner / 2, y: top + tall / 2, "text-anchor": "middle" }, empty));
        if (marked !== undefined) {
            nodes.push(svg("line", { class: "cursor", x1: x(marked) + slot / 2, x2: x(marked) + slot / 2, y1: top, y2: top + tall }));
        }
        const words = series.map(({ name }, place) => `${name} ${last(points, place) === undefined ? "unknown" : format(last(points, place))}`);
        fill(plot, svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${title}, now: ${words.join(", ")}` }, nodes));
    };
    const mark = (place) => {
        if (place === marked) return;
        marked = place;
        show();
        draw();
    };
    plot.addEventListener("pointermove", ({ clientX }) => {
        const place = Math.floor(((clientX - plot.getBoundingClientRect().left - left) / (width - left - right)) * points.length);
        mark(place >= 0 && place < points.length ? place : undefined);
    });
    plot.addEventListener("pointerleave", () => mark(undefined));
    new ResizeObserver(([{ contentRect }]) => {
        width = Math.floor(contentRect.width);
        draw();
    }).observe(plot);
    return { element, update: (list) => {
        points = list;
        show();
        draw();
    } };
}

function bars(points, series, x, y, slot) {
    const gap = slot > 6 ? 2 : 1;
    return points.flatMap((point, place) => {
        let sum = 0;
        return series.map(({ tone }, index) => {
            const value = point?.values[index] ?? 0;
            if (value === 0) return undefined;
            const low = y(sum);
            sum += value;
            return svg("rect", { class: tone, x: x(place) + gap / 2, width: Math.max(slot - gap, 1), y: y(sum), height: Math.max(low - y(sum), 0.75) });
        });
    });
}

function lines(points, series, x, y, slot) {
    return series.map(({ tone }, index) => {
        let path = "";
        let isOpen = false;
        for (const [place, point] of points.entries()) {
            const value = point?.values[index];
            if (value === undefined) {
                isOpen = false;
                continue;
            }
            const spot = `${(x(place) + slot / 2).toFixed(1)} ${y(value).toFixed(1)}`;
            // A single point is a dot: a line of no length with round ends.
            path += isOpen ? `L${spot}` : `M${spot}L${spot}`;
            isOpen = true;
        }
        return svg("path", { class: `line ${tone}`, d: path || "M0 0" });
    });
}

/** A small line without axes. */
export function sparkline(values) {
    const [width, height] = [120, 28];
    const highest = Math.max(...values.map((value) => value ?? 0), 1e-9);
    let path = "";
    for (const [place, value] of values.entries()) {
        if (value === undefined) continue;
        path += `${path ? "L" : "M"}${((place / (values.length - 1)) * width).toFixed(1)} ${(height - 2 - (value / highest) * (height - 4)).toFixed(1)}`;
    }
    return svg("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
        path && svg("path", { class: "line", d: path }));
}
