/** Whether a value of JSON is an object. */
export function isObject(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
