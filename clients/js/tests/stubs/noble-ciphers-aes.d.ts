export declare function gcm(
    key: Uint8Array, nonce: Uint8Array, associatedData?: Uint8Array,
): { encrypt(plaintext: Uint8Array): Uint8Array; decrypt(ciphertext: Uint8Array): Uint8Array };
