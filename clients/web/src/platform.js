// What the browser is and can do.

/** Whether the page is running in a tab on iOS, where nothing rings. `navigator.standalone` exists only on iOS and is true in apps. */
export function isTabOnIOS({ navigator, matchMedia } = globalThis) {
    if (navigator.standalone === undefined || navigator.standalone) return false;
    return navigator.maxTouchPoints > 1 && !matchMedia("(display-mode: standalone)").matches;
}

/** Whether the browser has Web Push here. */
export function hasWebPush(scope = globalThis) {
    return "Notification" in scope && "PushManager" in scope && !!scope.navigator?.serviceWorker;
}

/** A name for this device in the list of devices, such as `Firefox on Linux`. */
export function deviceName({ userAgent, userAgentData } = globalThis.navigator) {
    const first = (names, text) => names.find(([, pattern]) => pattern.test(text))?.[0];
    const browser = first([
        ["Edge", /Edg(A|iOS)?\//], ["Opera", /OPR\//], ["Samsung Internet", /SamsungBrowser\//], ["Firefox", /(Firefox|FxiOS)\//],
        ["Chrome", /(Chrome|CriOS)\//], ["Safari", /Safari\//],
    ], userAgent) ?? "Browser";
    const system = userAgentData?.platform || first([
        ["iPhone", /iPhone/], ["iPad", /iPad/], ["Android", /Android/], ["Windows", /Windows/], ["macOS", /Mac OS/], ["ChromeOS", /CrOS/],
        ["Linux", /Linux/],
    ], userAgent);
    return system ? `${browser} on ${system}` : browser;
}
