// The page's icons, drawn with lines on a 24-pixel square.
import { svg } from "./dom.js";

const paths = {
    inbox: ["M3 13h5l1.5 3h5L16 13h5", "M5.5 5h13L21 13v5a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 18v-5z"],
    settings: ["M4 7h9M17 7h3M4 17h3M11 17h9", "M15 4.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z",
        "M9 14.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z"],
    permission: ["M12 3l7 3v5.5c0 4.3-2.9 7.6-7 9.5-4.1-1.9-7-5.2-7-9.5V6z", "M12 8v4.5M12 15.8v.2"],
    complete: ["M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17z", "M8.2 12.3l2.6 2.6 5-5.4"],
    error: ["M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17z", "M9.2 9.2l5.6 5.6M14.8 9.2l-5.6 5.6"],
    notify: ["M6.5 16.5V11a5.5 5.5 0 0 1 11 0v5.5l1.5 1.5H5z", "M10 20.5a2.2 2.2 0 0 0 4 0"],
    lock: ["M6.5 10.5h11a1 1 0 0 1 1 1V19a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1v-7.500a1 1 0 0 1 1-1z",
        "M8.500 10.500V8a3.500 3.500 0 0 1 7 0v2.500"],
    back: ["M14.500 5.500L8 12l6.500 6.500"],
    next: ["M9.500 5.500L16 12l-6.500 6.500"],
    pair: ["M9.500 14.500l5-5", "M11 7l1.800-1.800a4.200 4.200 0 0 1 6 6L17 13", "M13 17l-1.800 1.800a4.200 4.200 0 0 1-6-6L7 11"],
    question: ["M12 3.500a8.500 8.500 0 1 1 0 17 8.500 8.500 0 0 1 0-17z",
        "M9.700 9.600a2.400 2.400 0 1 1 3.500 2.100c-.800.500-1.200 1-1.200 1.900M12 16.300v.200"],
    camera: ["M4 8h3.500l1.500-2.500h6L16.500 8H20a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V9a1 1 0 0 1 1-1z",
        "M12 10a3.500 3.500 0 1 1 0 7 3.500 3.500 0 0 1 0-7z"],
    phone: ["M8 3.500h8a1 1 0 0 1 1 1v15a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1v-15a1 1 0 0 1 1-1z", "M11 17.500h2"],
};

/** A decorative icon: the text beside it says what it means. */
export function icon(name) {
    return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
        ...(paths[name] ?? paths.notify).map((d) => svg("path", { d })));
}

/** The icon of a kind of item. */
export function typeIcon(kind) {
    return icon(["permission", "question", "complete", "error"].includes(kind) ? kind : "notify");
}
