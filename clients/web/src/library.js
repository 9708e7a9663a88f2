// The parts of the JavaScript client that the page uses. The rest of the client is for senders and for apps with APNs tokens.
export { encodeHex } from "../js/src/bytes.js";
export { setCryptography, webCryptography } from "../js/src/cryptography.js";
export { Envelope, SealedReply, SealedResult } from "../js/src/envelope.js";
export { Pairing, PairingError } from "../js/src/pairing.js";
export { PushPayload } from "../js/src/payload.js";
export { Replay } from "../js/src/replay.js";
export { Requests } from "../js/src/requests.js";
export { requestPublicKey, WebPush } from "../js/src/web-push.js";
