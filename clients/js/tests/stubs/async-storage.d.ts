declare const AsyncStorage: { getItem(key: string): Promise<string | null>; setItem(key: string, value: string): Promise<void> };
export default AsyncStorage;
