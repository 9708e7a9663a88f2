export type DevicePushToken = { type: "ios" | "android"; data: string } | { type: "web"; data: any };
export interface EventSubscription { remove(): void }
export interface Notification {
    date: number;
    request: {
        identifier: string;
        content: { title: string | null; body: string | null; data: Record<string, unknown> };
        trigger: { type: "push"; payload?: Record<string, unknown> } | { type: "unknown" } | null;
    };
}
export interface NotificationResponse { notification: Notification; actionIdentifier: string; userText?: string }
export type NotificationTaskPayload =
    | NotificationResponse
    | {
        data: Record<string, unknown> & { dataString?: string };
        notification: Record<string, unknown> | null;
        aps?: Record<string, unknown>;
    };
export interface NotificationAction {
    identifier: string;
    buttonTitle: string;
    textInput?: { submitButtonTitle: string; placeholder: string };
    options?: { isDestructive?: boolean; isAuthenticationRequired?: boolean; opensAppToForeground?: boolean };
}
export declare const DEFAULT_ACTION_IDENTIFIER: string;
export declare function requestPermissionsAsync(): Promise<{ status: "granted" | "undetermined" | "denied"; granted: boolean }>;
export declare function getDevicePushTokenAsync(): Promise<DevicePushToken>;
export declare function registerTaskAsync(taskName: string): Promise<null>;
export declare function setNotificationCategoryAsync(identifier: string, actions: NotificationAction[]): Promise<unknown>;
export declare function getPresentedNotificationsAsync(): Promise<Notification[]>;
export declare function dismissNotificationAsync(identifier: string): Promise<void>;
export declare function addPushTokenListener(listener: (token: DevicePushToken) => void): EventSubscription;
export declare function addNotificationResponseReceivedListener(
    listener: (response: NotificationResponse) => void,
): EventSubscription;
