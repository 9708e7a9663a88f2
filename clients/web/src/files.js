/** Every file that the page consists of, relative to its folder. Servers serve these, and the worker keeps them for offline use. */
export const files = Object.freeze([
    "index.html", "home.webmanifest", "manifest.webmanifest", "style.css", "worker.js",
    "icons/apple-touch-icon.png", "icons/badge.png", "icons/icon.svg", "icons/icon-192.png", "icons/icon-512.png",
    "icons/maskable.png",
    ...[
        "answering", "api", "app", "badge", "database", "diagnosis", "dom", "facts", "files", "history", "icons", "items", "keys",
        "library", "link",
        "main", "message", "notification", "pairings", "platform", "preferences", "pushes", "registration", "routes",
        "store", "subscription", "texts", "views/check", "views/item", "views/list", "views/pair", "views/pairing", "views/settings",
        "views/shell",
    ].map((name) => `src/${name}.js`),
    ...[
        "bytes", "content", "cryptography", "envelope", "json", "keys", "members", "pairing",
        "payload", "relay-error", "replay", "requests", "web-push",
    ].map((name) => `js/src/${name}.js`),
]);
