// The members that requests and options may have (docs/reference/api.md). A misspelt member would silently do nothing, so it is refused.

const words = (text) => text.split(" ");
const eventOnce = words("eventType sessionID serverID title body category mutableContent sealed actions");

const allowed = {
    device: words("deviceToken webPush bundleId apnsEnv deviceName deviceModel osVersion appVersion challengeCode preferences deviceID "
        + "sealed pushToStartToken attributesType widgetPushToken controlPushToken"),
    preferences: words("eventTypes quietHours badge timeZone perHour perDay activityReplacesAlert"),
    quietHours: words("from to timeZone allowPermission mode"),
    event: [...eventOnce, ...words("eventID async repeat contentState attributes")],
    notification: words("pushType title subtitle body badge sound category threadID collapseID interruptionLevel relevanceScore "
        + "priority ttl mutableContent contentAvailable data kind actions"),
    schedule: [...eventOnce, ...words("notification at in every name lateBy window deviceToken shorten")],
    every: words("unit interval at on timeZone until"),
    repeat: words("every for"),
    activity: words("sessionID activityToken deviceToken bundleId apnsEnv"),
};

/** Throws a `TypeError` if an object has members other than these. */
export function checkMembers(object, names, what) {
    for (const name of Object.keys(object ?? {})) {
        if (names.includes(name)) continue;
        const meant = names.find((known) => known.toLowerCase() === name.toLowerCase());
        throw new TypeError(`${what} has an unknown member ${name}${meant ? `; did you mean ${meant}?` : ""}`);
    }
}

/** Throws a `TypeError` if an object of this name has members that the API doesn't know, including in nested objects. */
export function checkRequest(name, object) {
    checkMembers(object, allowed[name], name);
    for (const inner of ["preferences", "quietHours", "notification", "every", "repeat"]) {
        const value = object?.[inner];
        if (typeof value === "object" && value !== null) checkRequest(inner, value);
    }
}
