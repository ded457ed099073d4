/** Handlers of AWS Lambda. */
import type { Client } from "./client.js";
import { isObject } from "./core.js";
import { Busy, Invalid, Mismatch } from "./errors.js";
import { frees, problem } from "./guard.js";
import { RunOptions } from "./run.js";

/** A function of the event and the context, a JSON pointer into the event (`/detail/id`), or `header:NAME` of an HTTP event. */
export type LambdaKey<E, C> = string | ((event: E, context: C) => string);

export interface LambdaOptions<E, C> extends Omit<RunOptions, "payload" | "signal"> {
  payload?: ((event: E, context: C) => unknown) | undefined;
  /** Of an HTTP event: every 5xx frees the key. */
  retry5xx?: boolean | undefined;
}

/** An answer that frees the key. */
class Unstored extends Error {
  constructor(readonly result: unknown) {
    super("the answer is not stored");
  }
}

/**
 * The handler runs once for each key, and repeats get what it returned.
 *
 * If another invocation is under way, `Busy` is thrown, so that Lambda retries. For an HTTP event (API Gateway, function URL)
 * the proxy's rules hold: 409 and 422 are answers, a replay has `Idempotent-Replayed: true`, and an answer 401, 403, 429 or
 * 503 frees the key.
 */
export function lambdaHandler<E = any, C = any, R = any>(
  client: Client,
  key: LambdaKey<E, C>,
  handler: (event: E, context: C) => R | Promise<R>,
  options: LambdaOptions<E, C> = {},
): (event: E, context?: C) => Promise<R> {
  const { payload, retry5xx, ...rest } = options;
  return async (event: E, context?: C): Promise<R> => {
    const isHttp = isHttpEvent(event);
    const work = async (): Promise<R> => {
      const result = await handler(event, context as C);
      if (isHttp && isObject(result) && frees({ retry5xx }, Number(result["statusCode"] ?? 200))) throw new Unstored(result);
      return result;
    };
    try {
      const given = { ...rest, payload: payload?.(event, context as C) };
      const { result, replayed } = await client.run(keyOf(key, event, context as C), work, given);
      return isHttp && replayed ? marked(result) : result;
    } catch (error) {
      if (error instanceof Unstored) return error.result as R;
      if (isHttp && error instanceof Busy) return httpAnswer(409, "busy", error.message, { "Retry-After": "1" }) as R;
      if (isHttp && error instanceof Mismatch) return httpAnswer(422, "mismatch", error.message, {}) as R;
      throw error;
    }
  };
}

function isHttpEvent(event: unknown): boolean {
  if (!isObject(event)) return false;
  return "httpMethod" in event || (isObject(event["requestContext"]) && "http" in event["requestContext"]);
}

function keyOf<E, C>(key: LambdaKey<E, C>, event: E, context: C): string {
  const found: unknown =
    typeof key === "function" ? key(event, context) : key.startsWith("header:") ? header(event, key.slice(7)) : pointed(event, key);
  if (found === undefined || found === null || found === "") throw new Invalid(`the event has no key (${String(key)})`);
  return String(found);
}

function header(event: unknown, wanted: string): unknown {
  const headers = isObject(event) && isObject(event["headers"]) ? event["headers"] : {};
  return Object.entries(headers).find(([name]) => name.toLowerCase() === wanted.toLowerCase())?.[1];
}

function pointed(value: unknown, pointer: string): unknown {
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return typeof value === "object" ? undefined : value;
}

function httpAnswer(statusCode: number, code: string, detail: string, headers: Record<string, string>): unknown {
  const body = new TextDecoder().decode(problem(statusCode, code, detail).body);
  return { statusCode, headers: { "Content-Type": "application/problem+json", ...headers }, body };
}

function marked<R>(result: R): R {
  if (!isObject(result) || !("statusCode" in result)) return result;
  const headers = isObject(result["headers"]) ? result["headers"] : {};
  return { ...result, headers: { ...headers, "Idempotent-Replayed": "true" } };
}
