// Client of APN relay: pairing, registration, sealed notifications. README.md explains how to use it.
export { setCryptography, webCryptography } from "./src/cryptography.js";
export { Envelope, EnvelopeError, SealedReply, SealedResult } from "./src/envelope.js";
export { expoPushToken } from "./src/expo.js";
export { PairingKeys } from "./src/keys.js";
export { Pairing, PairingError } from "./src/pairing.js";
export { PushPayload } from "./src/payload.js";
export { Relay } from "./src/relay.js";
export { RelayError } from "./src/relay-error.js";
export { Replay } from "./src/replay.js";
export { TokenKeeper } from "./src/token-keeper.js";
export { WebPush } from "./src/web-push.js";
