/** Every file that the page consists of, relative to its folder. Servers serve these, and the worker keeps them for offline use. */
export const files = Object.freeze([
    "index.html", "home.webmanifest", "manifest.webmanifest", "style.css", "worker.js", "icons/apple-touch-icon.png", "icons/badge.png",
    "icons/icon.svg", "icons/icon-192.png", "icons/icon-512.png", "icons/maskable.png", "src/answering.js", "src/api.js", "src/app.js",
    "src/badge.js", "src/camera.js", "src/database.js", "src/diagnosis.js", "src/dom.js", "src/facts.js", "src/files.js",
    "src/history.js", "src/icons.js", "src/items.js", "src/keys.js", "src/library.js", "src/link.js", "src/main.js", "src/message.js",
    "src/notification.js", "src/pairings.js", "src/platform.js", "src/preferences.js", "src/presence.js", "src/pushes.js",
    "src/questions.js", "src/registration.js", "src/routes.js", "src/store.js", "src/subscription.js", "src/texts.js", "src/views/check.js",
    "src/views/item.js", "src/views/list.js", "src/views/pair.js", "src/views/pairing.js", "src/views/questions.js", "src/views/scan.js",
    "src/views/settings.js", "src/views/shell.js", "src/views/tokens.js", "js/src/bytes.js", "js/src/content.js", "js/src/cryptography.js", "js/src/envelope.js",
    "js/src/json.js", "js/src/keys.js", "js/src/members.js", "js/src/pairing.js", "js/src/payload.js", "js/src/questions.js",
    "js/src/relay-error.js", "js/src/replay.js", "js/src/requests.js", "js/src/web-push.js",
]);
