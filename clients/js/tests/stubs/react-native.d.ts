export declare const Platform: { OS: "ios" | "android" | "web" | "macos" | "windows" };
declare global {
    const __DEV__: boolean;
}
