import { deviceTokenText } from "./device-token.js";
import { Forgotten } from "./forgotten.js";
import { checkMembers } from "./members.js";
import { Relay } from "./relay.js";
import { publicKeyOf, WebPush } from "./web-push.js";

const oldTokensMax = 8;
const challengesMax = 64;

/**
 * Keeps the device registered with the relay of each pairing.
 *
 * Call `sync` each time the app starts and when the token, the subscription or the pairings change, and `forget` when a pairing
 * is removed.
 */
export class TokenKeeper {
    #store;
    #forgotten;
    #relay;
    #details;
    #challenges = new Map();
    #last = Promise.resolve();

    /**
     * `store` keeps a small string per pairing: `get(name)` and `set(name, value)`. It contains device tokens or endpoints,
     * but no secrets. `secrets` is a store of the same kind in the Keychain: it keeps the relay's secret of pairings that were
     * forgotten while their relay was unreachable. `details` are further members of the registration, or a function that returns
     * them for a pairing. `relay` returns a pairing's `Relay`. `now` returns milliseconds since 1970.
     */
    constructor({ store, secrets, details = {}, relay = (pairing) => Relay.of(pairing), now = Date.now, ...rest }) {
        checkMembers(rest, ["store", "secrets", "details", "relay", "now"], "options");
        if (!store || !secrets) throw new TypeError("store and secrets are required; secrets must be in the Keychain");
        this.#store = store;
        this.#forgotten = new Forgotten(secrets, now);
        this.#details = typeof details === "function" ? details : () => details;
        this.#relay = relay;
    }

    /**
     * Registers the device for all pairings and then unregisters its earlier tokens and endpoints, and the pairings that `forget`
     * could not unregister. The device is a token, or `{ subscription, page, publicKey }`: a browser's subscription, or its `endpoint` and
     * `keys` with the public key that they were made with.
     *
     * Never throws because of one pairing: returns `{ pairing, status, error }` for each, with `status` `registered`,
     * `challenged`, `failed` or `otherKey`: the relay has another public key, `publicKey`, so subscribe with it and call `sync`
     * again. The next call retries what failed.
     */
    sync(pairings, device) {
        const identity = identityOf(device);
        return this.#inTurn(async () => {
            const [results] = await Promise.all([
                Promise.all(pairings.map((pairing) => this.#register(pairing, identity))),
                this.#unregisterForgotten(new Set(pairings.map(({ id }) => id))),
            ]);
            return results;
        });
    }

    /** Completes the registration that a challenge push belongs to. Returns its result, or undefined if no such registration is waiting. */
    answer({ id, code }) {
        return this.#inTurn(async () => {
            const waiting = this.#challenges.get(id);
            if (!waiting) return undefined;
            const result = await this.#register(waiting.pairing, waiting.identity, code);
            if (result.status === "registered") this.#challenges.delete(id);
            return result;
        });
    }

    /**
     * Unregisters every token and endpoint of a pairing. Returns true, or false if the relay can't do it now: the next `sync` calls then
     * try again, unless the pairing is among theirs. So remove it from the app's pairings first.
     *
     * Throws a `RelayError` only if too many other pairings are already waiting; call it again later.
     */
    forget(pairing) {
        return this.#inTurn(async () => {
            for (const [id, waiting] of this.#challenges) {
                if (waiting.pairing.id === pairing.id) this.#challenges.delete(id);
            }
            // Stored before the requests, so that it isn't lost if the app ends now.
            const isRemembered = await this.#forgotten.add(pairing);
            try {
                await this.#unregister(pairing, await this.#tokens(pairing));
            } catch (error) {
                if (isRemembered) return false;
                throw error;
            }
            await this.#forgotten.remove(pairing.id);
            return true;
        });
    }

    /** Calls run one after another, so that an old token is never registered after a new one. */
    #inTurn(work) {
        const result = this.#last.then(work);
        this.#last = result.catch(() => {});
        return result;
    }

    async #unregisterForgotten(pairedAgain) {
        try {
            const entries = await this.#forgotten.list();
            await Promise.all(entries.map(async ({ pairing, isOld }) => {
                if (pairedAgain.has(pairing.id) || await this.#isUnregistered(pairing) || isOld) {
                    await this.#forgotten.remove(pairing.id);
                }
            }));
        } catch {
            // The store failed; the next call tries again.
        }
    }

    async #isUnregistered(pairing) {
        try {
            await this.#unregister(pairing, await this.#tokens(pairing));
            return true;
        } catch {
            return false;
        }
    }

    async #register(pairing, identity, challengeCode) {
        const { token, members, publicKey } = identity;
        try {
            const relay = this.#relay(pairing);
            // A subscription accepts only messages signed with its own key, and the relay signs with its latest key for a new registration.
            const wanted = publicKey === undefined ? undefined : (await relay.webPushKey()).publicKey;
            if (wanted !== publicKey) return { pairing, status: "otherKey", publicKey: wanted };
            const old = (await this.#tokens(pairing)).filter((other) => other !== token).slice(-oldTokensMax);
            // Stored before the request, so that the token isn't forgotten if the app ends now.
            await this.#setTokens(pairing, [...old, token]);
            const { sealed, ...details } = this.#details(pairing) ?? {};
            const answer = await relay.register({
                ...details, sealed: pairing.keys ? sealed : undefined, challengeCode, ...members,
            });
            if (!answer.registered) {
                this.#remember(answer.challengeID, { pairing, identity });
                return { pairing, status: "challenged" };
            }
            await this.#unregister(pairing, old, [token]);
            const { ignored } = answer;
            return ignored ? { pairing, status: "registered", ignored } : { pairing, status: "registered" };
        } catch (error) {
            return { pairing, status: "failed", error };
        }
    }

    async #unregister(pairing, tokens, kept = []) {
        for (let index = 0; index < tokens.length; index++) {
            const token = tokens[index];
            await this.#relay(pairing).unregister(token.includes(":") ? { webPush: { endpoint: token } } : token);
            await this.#setTokens(pairing, [...tokens.slice(index + 1), ...kept]);
        }
    }

    #remember(challengeID, waiting) {
        for (const oldest of this.#challenges.keys()) {
            if (this.#challenges.size < challengesMax) break;
            this.#challenges.delete(oldest);
        }
        this.#challenges.set(challengeID, waiting);
    }

    /** The tokens and endpoints that may be registered for a pairing, oldest first. */
    async #tokens(pairing) {
        const text = await this.#store.get(nameOf(pairing));
        try {
            const tokens = JSON.parse(text ?? "[]");
            return Array.isArray(tokens) ? tokens.filter((token) => typeof token === "string") : [];
        } catch {
            return [];
        }
    }

    async #setTokens(pairing, tokens) {
        await this.#store.set(nameOf(pairing), JSON.stringify(tokens));
    }
}

/** What identifies a device here, what registers it, and its subscription's key if known. */
function identityOf(device) {
    if (device?.subscription === undefined) {
        const deviceToken = deviceTokenText(device);
        return { token: deviceToken, members: { deviceToken } };
    }
    const { subscription, page, publicKey = publicKeyOf(subscription), ...rest } = device;
    checkMembers(rest, ["subscription", "page", "publicKey"], "device");
    const webPush = WebPush.members(subscription, { page });
    return { token: webPush.endpoint, members: { webPush }, publicKey };
}

/** The ID doesn't reveal the secret. */
function nameOf(pairing) {
    return `apn-relay.tokens.${pairing.id}`;
}
