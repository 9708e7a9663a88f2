// Requests with a deadline and retries. Every route can be repeated safely: events have an eventID, schedules a name.
import { isObject } from "./json.js";
import { checkMembers } from "./members.js";
import { RelayError } from "./relay-error.js";

const deadlineDefault = 30_000;
const attemptsDefault = 5;
const delayMin = 250;
const delayMax = 5_000;
const answerCharactersMax = 4_194_304;
const optionNames = [
    "url", "secret", "registrationKey", "secretInHeader", "fetch", "deadline", "attempts", "traceparent", "now",
    "sleep", "random",
];

export class Requests {
    #base;
    #fetch;
    #deadline;
    #attempts;
    #traceparent;
    #now;
    #sleep;
    #random;

    constructor(url, {
        fetch = (...parameters) => globalThis.fetch(...parameters), deadline = deadlineDefault, attempts = attemptsDefault, traceparent,
        now = () => globalThis.performance?.now() ?? Date.now(), sleep = pause, random = Math.random, ...rest
    } = {}) {
        checkMembers(rest, optionNames, "options");
        if (typeof url !== "string" || !/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/i.test(url)) {
            throw new TypeError("url must be the relay's base URL, with http:// or https://");
        }
        if (!(deadline > 0) || !(attempts >= 1)) throw new TypeError("deadline and attempts must be positive");
        this.#base = url.replace(/\/+$/, "");
        this.#fetch = fetch;
        this.#deadline = deadline;
        this.#attempts = attempts;
        this.#traceparent = traceparent;
        this.#now = now;
        this.#sleep = sleep;
        this.#random = random;
    }

    /** Posts JSON and returns the response's object. Throws a `RelayError`. */
    post(path, members, { bearer, signal, longer } = {}) {
        const headers = { "content-type": "application/json" };
        if (bearer !== undefined) headers.authorization = `Bearer ${bearer}`;
        const place = this.#traceparent?.();
        if (place !== undefined) headers.traceparent = place;
        return this.#send(path, { method: "POST", headers, body: JSON.stringify(members) }, { signal, longer });
    }

    /** Gets a path and returns the response's object. Throws a `RelayError`. */
    get(path, { signal } = {}) {
        return this.#send(path, { method: "GET" }, { signal });
    }

    async #send(path, members, { signal, longer = 0 }) {
        const request = { ...members, redirect: "manual" };
        const end = this.#now() + this.#deadline + longer;
        for (let attempt = 1; ; attempt++) {
            let failure;
            try {
                return await this.#attempt(this.#base + path, request, end - this.#now(), signal);
            } catch (error) {
                failure = error;
            }
            const isLast = !failure.isTemporary || failure.kind === "timeout" || attempt >= this.#attempts;
            const delay = this.#delay(failure, attempt);
            if (isLast || this.#now() + delay >= end) throw failure;
            await this.#sleep(delay, signal);
            if (signal?.aborted) throw new RelayError("aborted", "The request was aborted.");
        }
    }

    /** Milliseconds until the next attempt: at least what the relay asked for. */
    #delay(failure, attempt) {
        if (failure.retryAfter !== undefined) return failure.retryAfter * 1000 + this.#random() * delayMin;
        const longest = Math.min(delayMax, delayMin * 2 ** (attempt - 1));
        return longest * (0.5 + 0.5 * this.#random());
    }

    async #attempt(url, request, remaining, signal) {
        if (signal?.aborted) throw new RelayError("aborted", "The request was aborted.");
        const controller = new AbortController();
        let stop;
        // Also ends the wait if fetch() doesn't react to its signal.
        const stopped = new Promise((_, reject) => {
            stop = (error) => {
                reject(error);
                controller.abort();
            };
        });
        const timer = setTimeout(() => stop(new RelayError("timeout", "The relay did not answer in time.")), remaining);
        const abort = () => stop(new RelayError("aborted", "The request was aborted."));
        signal?.addEventListener("abort", abort);
        try {
            return await Promise.race([stopped, this.#exchange(url, { ...request, signal: controller.signal })]);
        } finally {
            clearTimeout(timer);
            signal?.removeEventListener("abort", abort);
        }
    }

    async #exchange(url, request) {
        let response;
        let text;
        try {
            const send = this.#fetch;
            response = await send(url, request);
            if (Number(response.headers.get("content-length")) > answerCharactersMax) text = "";
            else text = await response.text();
        } catch (cause) {
            const code = tlsCode(cause);
            if (code) throw new RelayError("tls", `No secure connection to the relay: ${code}. Check its certificate.`, { cause });
            throw new RelayError("unreachable", "The relay can't be reached.", { cause });
        }
        return checked(response, text);
    }
}

/** The object of a successful response. */
function checked(response, text) {
    const { status } = response;
    const requestID = response.headers.get("x-request-id") ?? undefined;
    let answer;
    try {
        answer = JSON.parse(text);
    } catch {
        answer = undefined;
    }
    if (response.type === "opaqueredirect" || response.redirected || (status >= 300 && status <= 399)) {
        throw new RelayError("redirected", "The relay's URL redirects elsewhere. Use the URL that it leads to.", { status, requestID });
    }
    if (status < 200 || status > 299) {
        const { error, code, field } = isObject(answer) ? answer : {};
        const retryAfter = seconds(response.headers.get("retry-after"));
        const message = typeof error === "string" ? error : `The relay answered with status ${status}.`;
        throw new RelayError("refused", message, { status, code, field, requestID, retryAfter });
    }
    if (!isObject(answer) || answer.ok !== true) {
        throw new RelayError("unexpectedAnswer", "The answer is not a relay's. Check the URL.", { status, requestID });
    }
    return answer;
}

/** Retry-After as a number of seconds or as a date (RFC 9110, section 10.2.3). */
function seconds(text) {
    if (text === null || text === "") return undefined;
    if (/^\d{1,9}$/.test(text)) return Number(text);
    const date = Date.parse(text);
    return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}

/** Node's code for a TLS failure that another attempt wouldn't fix. React Native and browsers don't report it. */
function tlsCode(error) {
    const code = error?.cause?.code ?? error?.code;
    const isTLS = /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH$|EPROTO$)/;
    return typeof code === "string" && isTLS.test(code) ? code : undefined;
}

function pause(milliseconds, signal) {
    return new Promise((resolve) => {
        const finish = () => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", finish);
            resolve();
        };
        const timer = setTimeout(finish, milliseconds);
        signal?.addEventListener("abort", finish);
    });
}
