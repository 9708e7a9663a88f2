// The number of unread items on the app's icon, where there is one.
import { unreadCount } from "./items.js";
import { items } from "./store.js";

/** Never waits for the platform: in workers on iOS, `setAppBadge` doesn't return. */
export async function showBadge() {
    if (!globalThis.navigator?.setAppBadge) return;
    const count = unreadCount(await items.all());
    (count > 0 ? navigator.setAppBadge(count) : navigator.clearAppBadge()).catch(() => {});
}
