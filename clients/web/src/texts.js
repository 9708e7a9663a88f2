// All text that the page itself shows, in English. Text from others is never in here and never read as HTML.

/** Names from others are looked up here, so nothing is inherited, such as `constructor`. */
function table(entries) {
    return Object.assign(Object.create(null), entries);
}

const general = table({
    permission: { title: "Action needed", body: "An agent is waiting for your permission." },
    complete: { title: "Session complete", body: "An agent finished its session." },
    error: { title: "Session error", body: "A session failed." },
    notify: { title: "Notification", body: "Open it to see more." },
});
const kinds = table({ question: "Question", permission: "Permission", complete: "Complete", error: "Error", notify: "Notification" });
const actions = table({ answer: "Send answer", write: "Send answer", once: "Allow once", always: "Always allow", reject: "Reject" });
const chosen = table({ answer: "Answered", write: "Answered", once: "Allowed once", always: "Always allowed", reject: "Rejected" });
const reasons = table({
    changed: "The agent now asks for something else.", unauthorized: "The agent's server refused the bridge's password.",
    not_sealed: "The sender accepts only encrypted answers.", cannot_open: "The sender could not decrypt the answer.",
    no_key: "The sender has no key.", not_offered: "The request doesn't offer this answer.",
    invalid_answer: "The agent's form doesn't accept an answer in it.", unknown_action: "The sender doesn't know this answer.",
    unconfirmed: "The agent's response was lost.",
});

const refusals = table({
    unauthorized: "the relay needs its registration key", webpush_off: "Web Push is off on this relay",
    blocked: "the relay's operator blocked this secret", device_limit: "too many devices have this pairing",
    relay_full: "the relay accepts no new devices",
    other_relay: "this page's subscription belongs to another relay. Open this relay's own page",
});

export const texts = {
    name: "Relay",
    title: (unread) => (unread > 0 ? `(${unread}) Relay` : "Relay"),
    skip: "Skip to content",
    offline: "You're offline. This is what was saved on this device.",
    navigation: "Main", inbox: "Inbox", back: "Back", cancel: "Cancel", save: "Save", saved: "Saved.",
    tryAgain: "Try again", failed: (reason) => `That didn't work: ${reason}`,

    general: (type) => general[type] ?? general.notify,
    kind: (type) => kinds[type] ?? type.slice(0, 32),
    replay: (replay) => ({ repeated: "Repeated", stale: "Delivered late" })[replay],
    notEncrypted: "Not encrypted", cut: "Not shown in full",
    protection: {
        sealed: "End-to-end encrypted", locked: "Encrypted, but this device couldn't open it",
        open: "Not encrypted: the relay could read this",
    },
    action: (action) => actions[action] ?? action,

    unsupported: {
        title: "This browser can't run the page",
        insecure: "The page needs HTTPS. Open it at an address that starts with https://, or on this machine at http://127.0.0.1.",
        storage: "The browser doesn't let this page store anything. Private windows and blocked cookies cause this.",
    },

    list: {
        heading: "Inbox", unread: (count) => (count === 1 ? "1 unread" : `${count} unread`), allRead: "All read",
        isUnread: "Unread", filters: "Filter", all: "All", onlyUnread: "Unread", requests: "Requests", done: "Done",
        errors: "Errors", session: "Session", allSessions: "All sessions",
        markAllRead: "Mark all read", clear: "Clear", clearTitle: "Clear the inbox?",
        clearText: "Removes the notifications from this device. The relay's history, if it is on, stays there for your other devices.",
        cleared: "Inbox cleared.", older: "Load older", today: "Today", yesterday: "Yesterday",
        emptyTitle: "Nothing yet", emptyText: "When an agent finishes, fails, or needs your permission, it appears here.",
        noneTitle: "No matches", noneText: "Nothing passes this filter.", showAll: "Show all",
        historyOff: "This relay keeps no history, so the list has only what arrived on this device.",
        waiting: "Needs your answer", answered: (action) => chosen[action] ?? action, choose: "Select a notification to read it.",
    },

    item: {
        missingTitle: "Not here", missingText: "This notification isn't on this device any more.",
        sent: "Sent", session: "Session", pairing: "From", type: "Type", level: "Level", protection: "Protection", details: "Details",
        replayNote: {
            repeated: "This notification was delivered before. The sender may ring repeatedly until somebody answers.",
            stale: "This notification arrived long after it was sent. It may be out of date.",
        },
        request: "What is asked", answerHeading: "Your answer",
        onlyGeneral: "The sender showed no details. Check the request at the computer before you allow it.",
        note: "Reject with a message", noteLabel: "What the agent should do instead",
        confirmAlways: "Always allow this?", confirmAlwaysText: "The agent won't ask again for requests like this one.",
        cut: "The request is too long for a notification, so this is only a part of it. It can only be allowed at the computer.",
        over: (time) => `The agent stopped waiting for an answer ${time}. Answer at the computer.`,
        asText: "Show as text",
        cannotAnswer: "This can't be answered from here. Answer at the computer.",
        notAuthentic: "This text wasn't encrypted by your sender, so it can't be answered from here.",
        filterSession: "Show this session only",
    },

    questions: {
        send: "Send answer", several: "Choose one or more.", optional: "Optional.", own: "Other answer", ownOnly: "Your answer",
        missing: ({ options }) => (options.length > 0 ? "Choose an answer." : "Write an answer."), none: "No answer",
        tooLong: "The answers are too long to be encrypted. Shorten what you wrote.",
    },

    fate: {
        sending: "Sending your answer…", unsent: "Your answer wasn't sent: the relay can't be reached.",
        waiting: "Your answer reached the relay. Waiting for the agent.",
        taken: "The agent has your answer.",
        answered_elsewhere: "This was already answered elsewhere.", too_late: "Too late: the request is no longer open.",
        refused: "The agent refused the answer.", not_delivered: "The agent couldn't be reached.",
        elsewhere: "Another device answered first.",
        expired: "The relay no longer accepts an answer: the request is more than 24 hours old.",
        unproven: "The relay reported a result that isn't your sender's. Check at the computer.",
        rejected: (reason) => `The relay refused the answer: ${reason}`,
        other: (outcome) => `Result: ${outcome}`,
        reason: (reason) => reasons[reason] ?? (reason ? `Reason: ${reason}` : undefined),
        retry: "Send again",
        failedTitle: "Your answer wasn't taken",
    },

    challenge: {
        done: { title: "This device is registered", body: "The relay confirmed it. Notifications arrive from now on." },
        unknown: { title: "Registration not confirmed", body: "The relay sent a code that this device didn't ask for." },
    },

    pair: {
        welcome: "Your agents can ring you now",
        welcomeText: "Get notified when a coding agent finishes, fails or needs your permission — and answer from here. No account, no app store.",
        steps: ["Run agent-bridge pair at the computer", "Scan its code with this device's camera, or paste the link below",
            "Allow notifications"],
        heading: "Pair", pasteLabel: "Pairing link", pastePlaceholder: "https://…/app/#pair=…", submit: "Continue",
        hint: "The link contains a secret. It stays on this device.",
        confirm: "Pair with this computer?", nameLabel: "Name", relay: "Relay", hosts: "Computer", encryption: "Encryption",
        encrypted: "On: only your devices can read the texts", notEncrypted: "Off: this link has no key, so the relay can read the texts",
        pairAndRing: "Pair and turn on notifications", pairOnly: "Pair without notifications", pairing: "Pairing…",
        done: (name) => `Paired with ${name}.`, again: "This device already has this pairing. Its name and key were updated.",
        openCode: {
            text: "The code also opens OpenCode: once, within five minutes. Run agent-bridge pair again for a new one.",
            at: (host) => `Open OpenCode at ${host}`,
        },
        otherRelay: (url) => `This link is for the relay at ${url}. If it can't be reached from here, open the page of that relay.`,
        errors: {
            notPairing: "This isn't a pairing link.", unsupportedVersion: "This link is for a newer version of the page.",
            invalid: "The link is incomplete or damaged. Copy all of it.",
            secretMismatch: "The link's secret doesn't belong to its key. Don't use it.",
        },
        homeTitle: "Add to your Home Screen", homeText: "iPhone and iPad ring only for apps on the Home Screen.",
        homeSteps: ["Tap the Share button", "Choose “Add to Home Screen”, with “Open as Web App” on", "Open Relay from the Home Screen"],
        homeFallback: "If the app asks for a link, copy it here and paste it there.", copy: "Copy link",
        copied: "Link copied. Paste it only in the app.",
        homeSkip: "Use it in this tab, without notifications",
    },

    scan: {
        start: "Scan the code", picture: "The camera's picture", hint: "Point the camera at the code that agent-bridge pair shows.",
        other: "This isn't a pairing code. Point the camera at the code that agent-bridge pair shows.",
        nothing: "No pairing code was found within 2 minutes. Try again, or paste the link.",
        problems: table({
            NotAllowedError: "The camera is blocked for this page. Allow it in the browser's or the system's settings, or paste the link.",
            NotFoundError: "This device has no camera. Paste the link.",
            NotReadableError: "Another app is using the camera. Close that app and try again, or paste the link.",
            other: "The camera can't be used here. Paste the link.",
        }),
    },

    ring: {
        on: "Turn on notifications", turningOn: "Turning on…", done: "Notifications are on.", off: "Notifications are off on this device.",
        denied: "Notifications are blocked for this page. Allow them in the browser's or the system's settings.",
        webPushOff: "Web Push is off on this relay. Its operator turns it on with RELAY_VAPID_SUBJECT.",
        oldRelay: "This relay doesn't offer Web Push. It needs a newer version.",
        offline: "The relay can't be reached. Registration is tried again when the page opens.",
        challenged: "The relay sent a confirmation to this device. It is registered when that arrives.",
        failed: (reason) => `The browser couldn't subscribe: ${reason}`,
        several: (failed) => `Some pairings aren't registered: ${failed}`,
        /** What keeps this device from ringing. */
        get hints() {
            const { off, denied, webPushOff, oldRelay, offline } = texts.ring;
            return {
                off, denied, offline, "off-at-relay": webPushOff, old: oldRelay, renew: "The relay has a new key. Turn on notifications again.",
                unsupported: "This browser has no Web Push. On iPhone and iPad, add the page to the Home Screen first.",
            };
        },
    },

    settings: {
        heading: "Settings", pairings: "Pairings", add: "Add a pairing", device: "This device", notifications: "Notifications",
        check: "Why didn't it ring?", checkHint: "Tests everything between the computer and this device.",
        ringTitle: "Ring this device", ringHint: "Sends a test through the relay.", ring: "Ring", ringing: "Ringing…",
        rang: (seconds) => `It rang after ${seconds} s.`, notRung: "Nothing arrived within 20 seconds.",
        ringRefused: (reason) => `The relay couldn't ring: ${reason}`,
        testTitle: "Test", testBody: "Notifications arrive on this device.",
        on: "On", off: "Off", blocked: "Blocked",
        name: "Name", deviceName: "This device's name", what: "What rings", permission: "Permission requests",
        complete: "Finished sessions", error: "Errors",
        quiet: "Quiet hours", quietOn: "Use quiet hours", from: "From", to: "To", zone: "Time zone", mode: "During quiet hours",
        modes: { quiet: "Show without sound", later: "Deliver when they end" },
        letPermissions: "Permission requests still ring", limits: "Limits", perHour: "At most per hour", perDay: "At most per day",
        unlimited: "No limit",
        badge: "Show the number of unread items on the icon", registrationKey: "Registration key",
        registrationKeyHint: "Only if the relay asks for it. Not stored.",
        devices: "Devices", thisDevice: "This device", noDevices: "No device is registered.",
        lastPush: (status, when) => `Last push ${status} ${when}`, neverPushed: "No push yet",
        registered: (when) => `Registered ${when}`,
        removeOther: "Rename or remove another device on that device. To remove all, run agent-bridge pair --rotate.",
        unpair: "Remove this pairing", unpairTitle: (name) => `Remove ${name}?`,
        unpairText: "This device stops ringing for it, and its notifications are deleted here. To pair again, you need the link.",
        unpairAction: "Remove", unpaired: "Removed.", unpairedLater: "Removed here. The relay is told when it can be reached.",
        ignored: (fields) => `The relay doesn't know some values: ${fields}`,
        wrong: { types: "Choose at least one.", from: "Enter a time.", to: "Enter a time that differs from the start.",
        zone: "Enter a time zone.", perHour: "Enter a number from 1 to 1000.", perDay: "Enter a number from 1 to 1000." },
        unknown: "This pairing isn't on this device.", loadingDevices: "Asking the relay…",
        savedOffline: "Saved. The relay gets it when it can be reached.",
    },

    tokens: {
        heading: "Access tokens", hint: "A program with a token can ring this pairing's devices and nothing else.", none: "There are no tokens.",
        name: "For what", make: "Make a token", made: "The token is made.", once: "Copy the token now: it is never shown again.",
        copy: "Copy token", copied: "Copied.",
        notCopied: "The browser didn't allow it. Select the token and copy it.",
        created: (when) => `Made ${when}`, used: (when) => `Used ${when}`, unused: "Never used", expires: (date) => `Until ${date}`,
        revoke: "Revoke", revokeTitle: (name) => `Revoke ${name}?`, revokeText: "Programs that use it can't ring any more.", revoked: "Revoked.",
        old: "This relay has no access tokens. It needs a newer version.",
    },

    check: {
        heading: "Why didn't it ring?", intro: "Each part between the computer and this device, and what to do if it is at fault.",
        running: "Checking…", again: "Check again", good: "Nothing wrong found",
        bad: (count) => (count === 1 ? "1 problem found" : `${count} problems found`),
        states: { ok: "OK", bad: "Problem", warn: "Note", unknown: "Unknown" },
        rows: {
            permission: "Permission", worker: "Service worker", subscription: "Subscription", relay: "Relay", key: "Key",
            registration: "Registration",
            push: "Last push", arrival: "Last arrival", clock: "Clock", pairing: "Pairing",
        },
        permission: {
            granted: ["Notifications are allowed."], default: ["The browser hasn't asked yet.", "Turn on notifications in Settings."],
            denied: ["Notifications are blocked.",
                "Allow them for this page in the browser's settings, and in the system's settings for the browser."],
            home: ["This is a browser tab, which can't ring on iPhone and iPad.", "Add the page to the Home Screen and open it there."],
            unsupported: ["This browser has no Web Push.", "Use a current Chrome, Edge, Firefox or Safari, not in a private window."],
        },
        worker: { ok: ["Running."], bad: ["The worker that receives pushes isn't running.",
            "Reload the page. In private windows it may be unavailable."] },
        subscription: { ok: (host) => [`Pushes come through ${host}.`],
            bad: ["The browser has no subscription.", "Turn on notifications in Settings."] },
        relay: {
            ok: (host) => [`${host} is ready.`], notReady: (checks) => [`The relay reports a fault: ${checks}.`,
                "Its operator finds the cause with relay check."],
            unreachable: ["The relay can't be reached.", "Check this device's connection and that the relay's address is still right."],
            off: ["Web Push is off on this relay.", "Its operator turns it on with RELAY_VAPID_SUBJECT."],
            old: ["This relay doesn't offer Web Push.", "It needs a newer version."],
        },
        key: { ok: ["The subscription uses the relay's current key."],
            bad: ["The relay has a new key, so its pushes are refused.", "Turn on notifications again in Settings."] },
        registration: {
            ok: ["This device is registered."], bad: ["The relay doesn't have this device.",
                "Open the page while online: it registers again by itself. If it stays so, remove the pairing and pair again."],
            failed: (reason) => [`Registration failed: ${reason}`, "Open Settings, then the pairing, and save it again."],
            ignored: (fields) => [`The relay doesn't know some preferences: ${fields}.`, "Choose other values in the pairing's settings."],
        },
        push: {
            none: ["The relay hasn't pushed to this device yet.",
                "Ring this device from Settings. If that works, the computer sends nothing: run agent-bridge check there."],
            sent: (when) => [`The push service accepted a push ${when}.`,
                "If it didn't ring: check Do Not Disturb, Focus and battery saving on this device."],
            muted: (when) => [`A push was muted by this device's settings ${when}.`,
                "Change what rings, quiet hours or limits in the pairing's settings."],
            failed: (when, reason) => [`The last push failed ${when}: ${reason}.`, "Turn on notifications again in Settings."],
            queued: (when, reason) => [`The last push was queued ${when}: ${reason}.`, "The relay tries again by itself."],
        },
        arrival: { none: ["No push has arrived in this browser yet.", "Ring this device from Settings."],
            ok: (when) => [`The last push arrived ${when}.`],
            locked: (when) => [`The last push arrived ${when}, but its text couldn't be opened.`,
            "The key may have changed: pair again with the current link."] },
        clock: { ok: ["This device's clock agrees with the relay's."],
            bad: (minutes) => [`This device's clock is off by ${minutes} minutes.`,
            "Set the time automatically. Encrypted texts may be marked as late."], unknown: ["The relay's time isn't known."] },
        pairing: { none: ["This device has no pairing.", "Pair it with the link of agent-bridge pair."] },
    },

    errors: table({
        unreachable: "the relay can't be reached", timeout: "the relay didn't answer in time",
        redirected: "the relay's address redirects elsewhere",
        unexpectedAnswer: "the answer isn't a relay's", other: "something unexpected happened",
    }),
    /** What became of an answer. */
    fateOf({ fate, reason, outcome }) {
        const { fate: words } = texts;
        if (fate === "rejected") return words.rejected(reason);
        if (fate === "other") return words.other(outcome);
        return [words[fate] ?? words.waiting, fate === "taken" ? undefined : words.reason(reason)].filter(Boolean).join(" ");
    },
    /** Why a registration failed. */
    registration: ({ reason, message }) => refusals[reason] ?? texts.errors[reason] ?? message?.replace(/\.$/, "") ?? texts.errors.other,
    /** A failure in a few words. */
    reasonOf: (error) => texts.errors[error?.kind] ?? (error?.name === "RelayError" ? error.message.replace(/\.$/,
        "") : texts.errors.other),
    when(time, now = Date.now()) {
        const seconds = Math.round((time - now) / 1000);
        const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
        if (!Number.isFinite(seconds)) return "";
        if (Math.abs(seconds) < 60) return "just now";
        if (Math.abs(seconds) < 3600) return format.format(Math.round(seconds / 60), "minute");
        if (Math.abs(seconds) < 86_400) return format.format(Math.round(seconds / 3600), "hour");
        return format.format(Math.round(seconds / 86_400), "day");
    },
    clock: (time) => new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" }).format(time),
    date: (time) => new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" }).format(time),
    day(time, now = Date.now()) {
        const days = Math.round((new Date(now).setHours(0, 0, 0, 0) - time) / 86_400_000);
        if (days === 0) return texts.list.today;
        if (days === 1) return texts.list.yesterday;
        return new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" }).format(time);
    },
};
