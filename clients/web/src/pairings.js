// Stores a pairing link's pairing.
import { storedKeys } from "./keys.js";
import { nameOf } from "./link.js";
import { pairings } from "./store.js";

/** Stores a pairing; the same link again only changes its name. Returns the stored one. */
export async function addPairing(pairing, { name, relayURL }) {
    const old = await pairings.get(pairing.id);
    const stored = {
        preferences: {}, addedAt: Date.now(), endpoints: [], ...old, id: pairing.id, name: name?.trim().slice(0, 60) || nameOf(pairing),
        relayURL, relaySecret: pairing.relaySecret, serverID: pairing.serverID, hosts: [...pairing.hosts],
        // Without the pairing secret, from which everything else could be derived.
        keys: pairing.keys ? await storedKeys(pairing.keys) : undefined,
    };
    await pairings.put(stored);
    return { pairing: stored, isNew: !old };
}
