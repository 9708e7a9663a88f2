import { encodeHex, encodeUTF8 } from "./bytes.js";
import { cryptography } from "./cryptography.js";
import { deviceTokenText } from "./device-token.js";
import { Relay } from "./relay.js";

const oldTokensMax = 8;
const challengesMax = 64;

/**
 * Keeps the device registered with the relay of each pairing.
 *
 * Call `sync` at each start of the app and when the token or the pairings change, `forget` when a pairing is removed.
 */
export class TokenKeeper {
    #store;
    #relay;
    #details;
    #challenges = new Map();
    #last = Promise.resolve();

    /**
     * `store` keeps a small string per pairing: `get(name)` and `set(name, value)`. It has device tokens, but no secrets.
     * `details` are further members of the registration, or a function that returns them for a pairing. `relay` returns
     * the `Relay` of a pairing.
     */
    constructor({ store, details = {}, relay = (pairing) => Relay.of(pairing) }) {
        this.#store = store;
        this.#details = typeof details === "function" ? details : () => details;
        this.#relay = relay;
    }

    /**
     * Registers the token for all pairings and then unregisters earlier tokens.
     *
     * Never throws because of one pairing: returns `{ pairing, status, error }` for each, with `status` `registered`,
     * `challenged` or `failed`. What failed is done by the next call.
     */
    sync(pairings, deviceToken) {
        const token = deviceTokenText(deviceToken);
        return this.#inTurn(() => Promise.all(pairings.map((pairing) => this.#register(pairing, token))));
    }

    /** Completes the registration that a challenge push belongs to. Returns its result, or undefined if there is none. */
    answer({ id, code }) {
        return this.#inTurn(async () => {
            const waiting = this.#challenges.get(id);
            if (!waiting) return undefined;
            const result = await this.#register(waiting.pairing, waiting.token, code);
            if (result.status === "registered") this.#challenges.delete(id);
            return result;
        });
    }

    /** Unregisters every token of a pairing. Throws a `RelayError` if that fails; call it again then. */
    forget(pairing) {
        return this.#inTurn(async () => {
            const name = await nameOf(pairing);
            await this.#unregister(pairing, name, await this.#tokens(name));
        });
    }

    /** Calls follow one another, so that an old token is never registered after a new one. */
    #inTurn(work) {
        const result = this.#last.then(work);
        this.#last = result.catch(() => {});
        return result;
    }

    async #register(pairing, token, challengeCode) {
        try {
            const name = await nameOf(pairing);
            const old = (await this.#tokens(name)).filter((other) => other !== token).slice(-oldTokensMax);
            // Before the request, so that the token isn't forgotten if the app ends now.
            await this.#store.set(name, JSON.stringify([...old, token]));
            const { sealed, ...details } = this.#details(pairing) ?? {};
            const answer = await this.#relay(pairing).register({
                ...details, sealed: pairing.keys ? sealed : undefined, challengeCode, deviceToken: token,
            });
            if (!answer.registered) {
                this.#remember(answer.challengeID, { pairing, token });
                return { pairing, status: "challenged" };
            }
            await this.#unregister(pairing, name, old, [token]);
            return { pairing, status: "registered" };
        } catch (error) {
            return { pairing, status: "failed", error };
        }
    }

    async #unregister(pairing, name, tokens, kept = []) {
        for (let index = 0; index < tokens.length; index++) {
            await this.#relay(pairing).unregister(tokens[index]);
            await this.#store.set(name, JSON.stringify([...tokens.slice(index + 1), ...kept]));
        }
    }

    #remember(challengeID, waiting) {
        for (const oldest of this.#challenges.keys()) {
            if (this.#challenges.size < challengesMax) break;
            this.#challenges.delete(oldest);
        }
        this.#challenges.set(challengeID, waiting);
    }

    /** The tokens that may be registered for a pairing, oldest first. */
    async #tokens(name) {
        const text = await this.#store.get(name);
        try {
            const tokens = JSON.parse(text ?? "[]");
            return Array.isArray(tokens) ? tokens.filter((token) => typeof token === "string") : [];
        } catch {
            return [];
        }
    }
}

/** A name for the pairing in the store that doesn't reveal its secret. */
async function nameOf(pairing) {
    const relay = encodeUTF8(pairing.relayURL ?? "");
    const code = await cryptography().hmacSHA256(encodeUTF8(pairing.relaySecret), relay);
    return `apn-relay.tokens.${encodeHex(code).slice(0, 32)}`;
}
