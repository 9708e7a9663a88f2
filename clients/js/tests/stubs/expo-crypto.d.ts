export declare function getRandomBytes(byteCount: number): Uint8Array;
