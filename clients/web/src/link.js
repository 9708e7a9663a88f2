// Pairing links: the page's own (`https://relay.example.org/app/#pair=…`), those of apps (`mobilevoice:///?pair=…`), or their JSON.
import { Pairing } from "./library.js";

/** Whether a fragment contains a pairing. */
export function isPairingFragment(fragment) {
    return /^#(pair|payload)=./.test(fragment);
}

/** Reads a link or the JSON in it. Throws a `PairingError`. */
export function readLink(text) {
    return Pairing.parse(text);
}

/** The relay that serves a page: the folder above the page's. */
export function relayOfPage(pageURL) {
    return new URL("..", pageURL).href.replace(/\/+$/, "");
}

/** Where a pairing's one-time code opens OpenCode: links and their hosts. */
export function openingsOf({ connectURLs }) {
    return connectURLs.flatMap((url) => {
        try {
            return [{ url, host: new URL(url).host }];
        } catch {
            return [];
        }
    });
}

/** A name for a pairing that its user can change. */
export function nameOf({ hosts }) {
    try {
        return new URL(/:\/\//.test(hosts[0]) ? hosts[0] : `http://${hosts[0]}`).hostname;
    } catch {
        return hosts[0];
    }
}
