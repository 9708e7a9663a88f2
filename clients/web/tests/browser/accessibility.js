// Checks that every page must pass in every size.

export const sizes = [
    { name: "phone-light", width: 390, height: 844, scheme: "light", scale: 2 },
    { name: "phone-dark", width: 390, height: 844, scheme: "dark", scale: 2 },
    { name: "desktop-light", width: 1280, height: 800, scheme: "light" },
    { name: "desktop-dark", width: 1280, height: 800, scheme: "dark" },
];

/** The text colours with too little contrast to their background (WCAG 2, 1.4.3), and controls without a name. */
export const accessibility = (width) => `(() => {
    const channel = (value) => ((value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const colour = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1,
        1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
    const ground = (element) => { for (let at = element; at; at = at.parentElement) { const found = colour(getComputedStyle(at).backgroundColor); if (found[3] > 200) return found; } return [255, 255, 255]; };
    const faults = [];
    for (const element of document.querySelectorAll("body *")) {
        if (!element.checkVisibility({ visibilityProperty: true,
            opacityProperty: true }) || element.closest(":disabled, .hidden, .skip, datalist, option")) continue;
        const words = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim()).map((node) => node.data.trim()).join(" ");
        if (words) {
            const [one, other] = [luminance(colour(getComputedStyle(element).color)), luminance(ground(element))].sort((a, b) => b - a);
            const ratio = (one + 0.05) / (other + 0.05);
            if (ratio < 4.5) faults.push(words.slice(0, 30) + " has a contrast of " + ratio.toFixed(2));
        }
        if (element.matches("button, a[href], input, select, textarea")) {
            const name = element.getAttribute("aria-label") || element.innerText || [...(element.labels ?? [])].map((label) => label.innerText).join(" ");
            if (!name.trim()) faults.push("no name: " + element.outerHTML.slice(0, 80));
        }
        if (element.matches("img:not([alt])")) faults.push("no alt: " + element.outerHTML);
    }
    for (const id of [...document.querySelectorAll("[id]")].map(({ id }) => id).filter((id, index,
        all) => all.indexOf(id) !== index)) faults.push("id twice: " + id);
    if (document.querySelectorAll("main h1").length === 0) faults.push("no heading");
    if (document.documentElement.scrollWidth > ${width}) faults.push("wider than the window by " + (document.documentElement.scrollWidth - ${width}));
    return faults;
})()`;
