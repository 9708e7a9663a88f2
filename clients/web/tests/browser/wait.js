/** Milliseconds for a browser or the relay to start, even on a busy machine that reads their files for the first time. */
export const starting = 60_000;

/**
 * Polls until the value is truthy. 0 counts as none: it is what Number makes of a file that exists and is still empty.
 * The limit only ends a wait that hangs; it measures nothing.
 */
export async function until(what, ask, milliseconds = 30_000) {
    const end = Date.now() + milliseconds;
    for (let last; ; ) {
        const value = await ask().catch((error) => void (last = error));
        if (value) return value;
        if (Date.now() >= end) throw new Error(`Not within ${milliseconds} ms: ${what}${last ? `; ${last.message}` : ""}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}
