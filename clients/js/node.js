// The entry for Node, whose version 18 has Web Crypto in a module but not as a global of ES modules.
import { webcrypto } from "node:crypto";
import { setCryptography, webCryptography } from "./src/cryptography.js";

setCryptography(webCryptography(webcrypto));

export * from "./index.js";
