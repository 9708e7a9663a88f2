// Requests to the admin listener that served this page.

const storageKey = "admin-token";

/** Why a request failed, in words for the operator. */
export class Failure extends Error {
    constructor(message, status = 0) {
        super(message);
        this.status = status;
    }
}

/** The token of this tab. */
export const token = {
    get: () => sessionStorage.getItem(storageKey),
    set: (text) => sessionStorage.setItem(storageKey, text),
    forget: () => sessionStorage.removeItem(storageKey),
};

/** Sends a request to the relay; throws a `Failure`. */
export async function ask(path, { method = "GET", body, signal } = {}) {
    const headers = {};
    if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
    if (body) headers["Content-Type"] = "application/json";
    let response;
    let text;
    try {
        response = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body), cache: "no-store", redirect: "error" });
        text = await response.text();
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Failure("The relay doesn't answer.");
    }
    let answer;
    try {
        answer = JSON.parse(text);
    } catch {
        // The listener's refusals are one sentence of plain text.
    }
    if (!response.ok) throw new Failure(answer?.error ?? (text.trim().slice(0, 300) || `The relay answers ${response.status}.`), response.status);
    if (answer === undefined) throw new Failure("The answer isn't the relay's.");
    return answer;
}
