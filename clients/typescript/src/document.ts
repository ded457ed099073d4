/** Documents: a value with an ETag. Nothing is overwritten unseen. */
import { orNull } from "./claims.js";
import { Answer, Backoff, Core, path, plain, stringify } from "./core.js";
import { Condition } from "./effects.js";
import { Contended, Invalid, OnceError, PreconditionFailed } from "./errors.js";
import { clock, pause } from "./platform.js";
import { Duration, ETagLike, Snapshot, Written, durationText, etagText, unquoted } from "./values.js";

const JSON_TYPE = "application/json";
const MATCHES_NOTHING = "0".repeat(16); // No document has this ETag.

export interface PutOptions extends Condition {
  /** JSON unless it is given, or the value is bytes. */
  contentType?: string | undefined;
  /** A repeat under the same id is answered as done. Without one, each call has one of its own. */
  id?: string | undefined;
  /** The document ends after that. */
  ttl?: Duration | undefined;
}

export interface UpdateOptions<T> {
  /** What the change gets if there is no document (undefined). */
  default?: T | undefined;
  contentType?: string | undefined;
  ttl?: Duration | undefined;
}

function isJson(contentType: string): boolean {
  const kind = contentType.split(";")[0]!.trim().toLowerCase();
  return kind === JSON_TYPE || kind.endsWith("+json");
}

function snapshot(answer: Answer): Snapshot {
  const contentType = answer.headers["content-type"] ?? "application/octet-stream";
  const value: unknown = isJson(contentType) ? answer.json() : /^text\//i.test(contentType) ? answer.text() : answer.body;
  return { value, etag: unquoted(answer.headers["etag"] ?? ""), contentType };
}

function contentOf(value: unknown, contentType: string | undefined): [string | Uint8Array, string] {
  if (value instanceof Uint8Array) return [value, contentType ?? "application/octet-stream"];
  if (value instanceof ArrayBuffer) return [new Uint8Array(value), contentType ?? "application/octet-stream"];
  if (contentType === undefined || isJson(contentType)) return [stringify(value), contentType ?? JSON_TYPE];
  if (typeof value !== "string") throw new Invalid(`${contentType} takes bytes or text`);
  return [value, contentType];
}

function sameBytes(sent: string | Uint8Array, found: Uint8Array): boolean {
  const bytes = typeof sent === "string" ? new TextEncoder().encode(sent) : sent;
  return bytes.length === found.length && bytes.every((byte, at) => byte === found[at]);
}

/** The document, or null. */
export async function getDocument(core: Core, key: string): Promise<Snapshot | null> {
  const answer = await orNull(core.call(core.request("GET", path("docs", key), undefined, { expect: "document" })));
  return answer === null ? null : snapshot(answer);
}

/** A value with an ETag. */
export class Document {
  /** @internal */
  constructor(private readonly core: Core, readonly key: string) {}

  /** Value and ETag, or null. */
  get<T = any>(): Promise<Snapshot<T> | null> {
    return getDocument(this.core, this.key);
  }

  /** Value and ETag if it is another one by now, else null. Throws `NotFound`. */
  async getIfChanged<T = any>(etag: ETagLike): Promise<Snapshot<T> | null> {
    const headers = { "If-None-Match": `"${etagText(etag)}"` };
    const request = this.core.request("GET", path("docs", this.key), undefined, { headers, expect: "document" });
    const answer = await this.core.call(request);
    return answer.status === 304 ? null : snapshot(answer);
  }

  /**
   * Creates it, or replaces the one with that ETag: give `create: true` or `ifMatch`. Throws `PreconditionFailed`.
   *
   * A repeat under a known `id` changes nothing. If the document has changed or is gone by then, the ETag that it returns
   * matches nothing.
   */
  async put(value: unknown, options: PutOptions): Promise<Written> {
    const create = options?.create ?? false;
    if (create === (options?.ifMatch !== undefined)) throw new Invalid("a put needs a condition: create: true or ifMatch: etag");
    const [content, contentType] = contentOf(value, options.contentType);
    const headers: Record<string, string> = {
      ...(create ? { "If-None-Match": "*" } : { "If-Match": `"${etagText(options.ifMatch as ETagLike)}"` }),
      "Idempotency-Key": options.id ?? (await this.core.newId()),
    };
    if (options.ttl !== undefined) headers["Once-TTL"] = durationText(options.ttl);
    const target = path("docs", this.key);
    const answer = await this.core.call(
      this.core.request("PUT", target, undefined, { headers, content, contentType, expect: "document" }),
    );
    if (!answer.replayed) return new Written(unquoted(answer.headers["etag"] ?? ""), false);
    const etag = "etag" in answer.headers ? await this.#etagOf(content) : MATCHES_NOTHING;
    return new Written(etag, options.id !== undefined);
  }

  /**
   * The ETag of the document if it has this content; otherwise one that matches nothing.
   *
   * A replayed put has the ETag of the document as it is now, which may be another's. The put is done, so a read that fails
   * is no failure of it.
   */
  async #etagOf(content: string | Uint8Array): Promise<string> {
    try {
      const current = await this.core.call(this.core.request("GET", path("docs", this.key), undefined, { expect: "document" }));
      return sameBytes(content, current.body) ? unquoted(current.headers["etag"] ?? "") : MATCHES_NOTHING;
    } catch (error) {
      if (error instanceof OnceError) return MATCHES_NOTHING;
      throw error;
    }
  }

  /**
   * Puts what `change` makes of the value, and again if another was faster: no update is lost.
   *
   * `change` gets `default` if there is no document, may be called several times, and may return a promise.
   */
  async update<T = any>(change: (value: T) => T | Promise<T>, options: UpdateOptions<T> = {}): Promise<Snapshot<T>> {
    const deadline = clock() + this.core.patience;
    const backoff = new Backoff(20, 1000);
    for (;;) {
      const current = await getDocument(this.core, this.key);
      const value = await change(current === null ? (options.default as T) : current.value);
      const contentType = options.contentType ?? current?.contentType;
      const condition = current === null ? { create: true } : { ifMatch: current.etag };
      try {
        const { etag } = await this.put(value, { ...condition, contentType, ttl: options.ttl });
        const kind = contentType ?? (value instanceof Uint8Array ? "application/octet-stream" : JSON_TYPE);
        return { value: isJson(kind) ? plain(value) : value, etag, contentType: kind };
      } catch (error) {
        if (!(error instanceof PreconditionFailed)) throw error;
        const left = deadline - clock();
        if (left <= 0) {
          const { status, problem } = error;
          throw new Contended(`others always changed '${this.key}' first`, { status, problem, cause: error });
        }
        await pause(Math.min(backoff.next(), left));
      }
    }
  }

  /**
   * A merge patch, or an array of JSON patch operations. The server retries conflicts.
   *
   * A repeat under a known `id` changes nothing. Its value is null if the document is gone by then.
   */
  async patch<T = any>(patch: unknown, options: Pick<PutOptions, "ifMatch" | "id" | "ttl"> = {}): Promise<Snapshot<T>> {
    const contentType = Array.isArray(patch) ? "application/json-patch+json" : "application/merge-patch+json";
    const headers: Record<string, string> = { "Idempotency-Key": options.id ?? (await this.core.newId()) };
    if (options.ifMatch !== undefined) headers["If-Match"] = `"${etagText(options.ifMatch)}"`;
    if (options.ttl !== undefined) headers["Once-TTL"] = durationText(options.ttl);
    const request = this.core.request("PATCH", path("docs", this.key), patch, { headers, contentType, expect: "document" });
    const answer = await this.core.call(request);
    // A patch that was done before has no document to show if that is gone by now.
    return "etag" in answer.headers ? snapshot(answer) : { value: null as T, etag: MATCHES_NOTHING, contentType: "" };
  }

  /** Removes the one with that ETag; without one, whatever is there. False: there was none. */
  async delete(options: Pick<PutOptions, "ifMatch" | "id"> = {}): Promise<boolean> {
    if (options.ifMatch !== undefined) {
      await this.#deleteMatching(etagText(options.ifMatch), options.id);
      return true;
    }
    const deadline = clock() + this.core.patience;
    const backoff = new Backoff(20, 1000);
    for (;;) {
      const current = await getDocument(this.core, this.key);
      if (current === null) return false;
      try {
        await this.#deleteMatching(current.etag, options.id);
        return true;
      } catch (error) {
        if (!(error instanceof PreconditionFailed) || clock() >= deadline) throw error;
        await pause(backoff.next());
      }
    }
  }

  async #deleteMatching(etag: string, id: string | undefined): Promise<void> {
    const headers = { "If-Match": `"${etag}"`, "Idempotency-Key": id ?? (await this.core.newId()) };
    await this.core.call(this.core.request("DELETE", path("docs", this.key), undefined, { headers, expect: "nothing" }));
  }
}
