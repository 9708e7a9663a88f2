export interface TaskManagerError { code: string | number; message: string }
export interface TaskManagerTaskBody<T = unknown> {
    data: T;
    error: TaskManagerError | null;
    executionInfo: { eventId: string; taskName: string };
}
export type TaskManagerTaskExecutor<T = unknown> = (body: TaskManagerTaskBody<T>) => Promise<any>;
export declare function defineTask<T = unknown>(taskName: string, taskExecutor: TaskManagerTaskExecutor<T>): void;
