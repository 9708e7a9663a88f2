export declare function sha256(message: Uint8Array): Uint8Array;
