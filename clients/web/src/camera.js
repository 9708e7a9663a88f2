// Reads codes with the camera, in browsers that can: Chrome on Android and macOS, but not iOS.

const frameMilliseconds = 200;
const format = "qr_code";

/** Whether the browser can use a camera and read QR codes from it. */
export async function canScan({ BarcodeDetector, navigator } = globalThis) {
    if (!BarcodeDetector || !navigator?.mediaDevices?.getUserMedia) return false;
    return (await BarcodeDetector.getSupportedFormats().catch(() => [])).includes(format);
}

/**
 * Shows the camera's picture in a video element until it sees a code whose text `accept` accepts, or `signal` aborts. The camera is
 * off when this returns. Returns the text, or undefined. Throws what the browser throws, such as `NotAllowedError`.
 */
export async function scan(video, { accept, signal }, { BarcodeDetector, navigator } = globalThis) {
    const detector = new BarcodeDetector({ formats: [format] });
    const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    try {
        // Not an address, so the policy needs no exception.
        video.srcObject = stream;
        await video.play();
        while (!signal.aborted) {
            for (const { rawValue } of await detector.detect(video)) if (await accept(rawValue)) return rawValue;
            await new Promise((resolve) => setTimeout(resolve, frameMilliseconds));
        }
    } finally {
        for (const track of stream.getTracks()) track.stop();
        video.srcObject = null;
    }
    return undefined;
}
