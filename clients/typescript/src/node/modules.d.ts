// Of Node's modules, what this package uses. Debian's TypeScript comes without @types/node, and the package has to build
// offline; a user of the package never sees this file.

declare module "node:async_hooks" {
  export class AsyncLocalStorage<T> {
    run<R>(store: T, work: () => R): R;
    getStore(): T | undefined;
  }
}

declare module "node:buffer" {
  export const Buffer: { byteLength(text: string): number };
}

declare module "node:crypto" {
  interface Hash {
    update(data: string | Uint8Array): this;
    digest(encoding: "hex"): string;
  }
  export const webcrypto: Crypto;
  export function createHash(name: string): Hash;
  export function createHmac(name: string, key: string): Hash;
  export function randomBytes(size: number): { toString(encoding: "hex"): string };
  export function timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
}

declare module "node:os" {
  export function hostname(): string;
}

declare module "node:path" {
  export const delimiter: string;
  export function join(...parts: string[]): string;
  export function resolve(...parts: string[]): string;
}

declare module "node:fs" {
  export const constants: Record<"O_RDONLY" | "O_NOFOLLOW" | "O_NONBLOCK" | "X_OK", number>;
}

declare module "node:fs/promises" {
  interface Stats {
    readonly uid: number;
    isFile(): boolean;
  }
  interface FileHandle {
    stat(): Promise<Stats>;
    read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
    close(): Promise<void>;
  }
  export function open(path: string, flags: number): Promise<FileHandle>;
  export function stat(path: string): Promise<Stats>;
  export function access(path: string, mode: number): Promise<void>;
}

declare module "node:child_process" {
  interface Output {
    on(event: "data", take: (piece: Uint8Array) => void): this;
    destroy(): void;
  }
  export interface ChildProcess {
    readonly pid?: number;
    readonly exitCode: number | null;
    readonly signalCode: string | null;
    readonly stdout: Output;
    readonly stderr: Output;
    on(event: "error", take: (error: Error) => void): this;
    on(event: "exit" | "close", take: (code: number | null) => void): this;
    kill(signal?: string): boolean;
    unref(): void;
  }
  export function spawn(command: string, args: readonly string[], options: object): ChildProcess;
}

declare module "node:http" {
  export interface Socket {
    readonly connecting: boolean;
    once(event: "connect" | "secureConnect", take: () => void): this;
    setTimeout(ms: number, take?: () => void): this;
    destroy(error?: Error): void;
    getPeerCertificate?(): { raw?: Uint8Array };
  }
  export interface IncomingMessage extends AsyncIterable<Uint8Array> {
    readonly statusCode?: number;
    readonly headers: Record<string, string | string[] | undefined>;
    readonly complete: boolean;
    readonly socket: Socket;
    on(event: "data", take: (piece: Uint8Array) => void): this;
    on(event: "end" | "close" | "aborted", take: () => void): this;
    on(event: "error", take: (error: Error) => void): this;
  }
  export interface ClientRequest {
    readonly reusedSocket: boolean;
    on(event: "response", take: (response: IncomingMessage) => void): this;
    on(event: "socket", take: (socket: Socket) => void): this;
    on(event: "error", take: (error: Error) => void): this;
    on(event: "close", take: () => void): this;
    end(body?: string | Uint8Array): void;
    destroy(error?: Error): void;
  }
  export class Agent {
    constructor(options: object);
    createConnection(options: object, done: (error: Error | null, socket?: Socket) => void): Socket | undefined;
    destroy(): void;
  }
  export function request(options: object): ClientRequest;
}

declare module "node:https" {
  export { Agent, request } from "node:http";
}
