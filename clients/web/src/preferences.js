// The settings of a pairing, as a form and as the registration's `preferences` (docs/reference/api.md, Preferences).

/** The event types that ring. */
export const types = ["permission", "complete", "error"];

/** The form's values for some preferences. */
export function formOf(preferences = {}, zone = localZone()) {
    const { eventTypes, quietHours, perHour, perDay, badge } = preferences;
    return {
        types: eventTypes ? types.filter((type) => eventTypes.includes(type)) : [...types],
        isQuiet: quietHours !== undefined, from: quietHours?.from ?? "22:00", to: quietHours?.to ?? "07:00",
        zone: quietHours?.timeZone ?? preferences.timeZone ?? zone, mode: quietHours?.mode ?? "quiet",
        letsPermissionsRing: quietHours?.allowPermission ?? true,
        perHour: perHour ?? "", perDay: perDay ?? "", badge: badge === "unread",
    };
}

/**
 * The preferences for a form's values, and the fields that are invalid: `{ preferences, wrong }`.
 *
 * Kinds of notifications that only the sender knows can't be listed, so choosing some types excludes them; choosing all types doesn't.
 */
export function preferencesOf(form) {
    const wrong = [];
    const preferences = { timeZone: form.zone };
    const chosen = types.filter((type) => form.types.includes(type));
    if (chosen.length === 0) wrong.push("types");
    if (chosen.length < types.length) preferences.eventTypes = chosen;
    if (form.isQuiet) {
        if (!isTime(form.from)) wrong.push("from");
        if (!isTime(form.to) || form.from === form.to) wrong.push("to");
        preferences.quietHours = {
            from: form.from, to: form.to, timeZone: form.zone, mode: form.mode, allowPermission: form.letsPermissionsRing,
        };
    }
    if (!form.zone || form.zone.length > 64) wrong.push("zone");
    for (const name of ["perHour", "perDay"]) {
        if (form[name] === "") continue;
        const number = Number(form[name]);
        if (Number.isInteger(number) && number >= 1 && number <= 1000) preferences[name] = number;
        else wrong.push(name);
    }
    if (form.badge) preferences.badge = "unread";
    return { preferences, wrong };
}

export function localZone() {
    return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

function isTime(text) {
    return /^([01]\d|2[0-3]):[0-5]\d$/.test(text);
}
