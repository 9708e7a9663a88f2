// The page's own addresses, in the fragment: it never reaches the server. They contain no secret.

const pages = ["settings", "pair", "check", "item"];

/** The page and what it shows, from a fragment such as `#/item/…`. */
export function routeOf(fragment) {
    const [, page, rest] = /^#\/([a-z]+)(?:\/(.*))?$/s.exec(fragment) ?? [];
    if (!pages.includes(page)) return { page: "list" };
    try {
        return rest ? { page, id: decodeURIComponent(rest) } : { page };
    } catch {
        return { page: "list" };
    }
}

export function hrefOf({ page, id }) {
    return page === "list" ? "#/" : `#/${page}${id === undefined ? "" : `/${encodeURIComponent(id)}`}`;
}

export function hrefOfItem(key) {
    return hrefOf({ page: "item", id: key });
}
