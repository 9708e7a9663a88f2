// The entry point for Node. Node 18 has Web Crypto as a module, but not as a global in ES modules.
import { webcrypto } from "node:crypto";
import { setCryptography, webCryptography } from "./src/cryptography.js";

setCryptography(webCryptography(webcrypto));

export * from "./index.js";
