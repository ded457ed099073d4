/** The client: everything that the HTTP API has. */
import { Claim, claimRecord, orNull, removed } from "./claims.js";
import { commit, prepare } from "./commit.js";
import { Answer, Core, Listing, Transport, bodyOf, checkName, fieldOf, isObject, path, present, query } from "./core.js";
import { Document } from "./document.js";
import { Effects } from "./effects.js";
import { Invalid, Unavailable, Unknown } from "./errors.js";
import { Log, logInfo } from "./log.js";
import { environment, isNode, nodePart, process } from "./platform.js";
import { RunOptions, Work, run } from "./run.js";
import { Range, Tally, rangeOf, tallyValue } from "./tally.js";
import { Notice } from "./telemetry.js";
import { Fetch, FetchTransport } from "./transport.js";
import * as values from "./values.js";

/** Of TLS, in Node: as in Node's own `tls.connect`. */
export interface TlsOptions {
  ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  cert?: string | Uint8Array | undefined;
  key?: string | Uint8Array | undefined;
  passphrase?: string | undefined;
  servername?: string | undefined;
  rejectUnauthorized?: boolean | undefined;
}

export interface ConnectOptions {
  /** `$ONCE_TOKEN` unless it is given. */
  token?: string | null | undefined;
  /** `$ONCE_NAMESPACE` unless it is given. */
  namespace?: string | null | undefined;
  /** How long what may be repeated is repeated (60s). */
  patience?: values.Duration | undefined;
  /** How long one try may take (10s). */
  timeout?: values.Duration | undefined;
  /** A label for people: who holds a claim. */
  owner?: string | undefined;
  /** For logs and metrics. One that throws harms nothing. */
  onNotice?: ((notice: Notice) => void) | undefined;
  /** In Node: authorities, client certificate and key. */
  tls?: TlsOptions | undefined;
  /** In place of Node's own HTTP; elsewhere the global fetch is used anyway. */
  fetch?: Fetch | undefined;
}

interface ListOptions {
  prefix?: string | undefined;
  /** How many a page has. */
  limit?: number | undefined;
}

interface BulkOptions {
  prefix?: string | undefined;
  owner?: string | undefined;
  olderThan?: values.Duration | undefined;
  /** Only counts. */
  dryRun?: boolean | undefined;
}

/**
 * A client of the server at a URL, or of the one that owns a directory, which is started if none is running.
 *
 * Without an address it is `$ONCE_STORE`, else the default directory of every command. Nothing is asked before the first call.
 */
export function connect(address?: string | URL | null, options: ConnectOptions = {}): Client {
  return new Client(address == null || address === "" ? defaultStore() : String(address), options);
}

function defaultStore(): string {
  const given = environment("ONCE_STORE");
  if (given !== undefined) return given;
  const state = environment("XDG_STATE_HOME");
  if (state?.startsWith("/")) return `${state}/once`;
  if (process?.geteuid?.() === 0) return "/var/lib/once";
  const home = environment("HOME");
  if (home?.startsWith("/")) return `${home}/.local/state/once`;
  throw new Unavailable("no store: neither an address nor ONCE_STORE nor HOME is set");
}

/** The transport for an address, made at the first use: Node's part is loaded then. */
class LazyTransport implements Transport {
  #made: Promise<Transport> | undefined;
  #ready: Transport | undefined;

  constructor(readonly address: string, private readonly make: () => Promise<Transport>) {}

  get url(): string {
    return this.#ready?.url ?? this.address;
  }

  async #get(): Promise<Transport> {
    this.#made ??= this.make();
    return (this.#ready = await this.#made);
  }

  async send(...given: Parameters<Transport["send"]>): ReturnType<Transport["send"]> {
    return (this.#ready ?? (await this.#get())).send(...given);
  }

  async *lines(...given: Parameters<Transport["lines"]>): ReturnType<Transport["lines"]> {
    yield* (this.#ready ?? (await this.#get())).lines(...given);
  }

  close(): void {
    this.#ready?.close();
  }
}

function transportFor(address: string, options: ConnectOptions, started: (directory: string) => void): Transport {
  if (/^https?:\/\//.test(address)) {
    const url = address.replace(/\/+$/, "");
    checkUrl(url);
    return new LazyTransport(url, async () => {
      const node = options.fetch === undefined && isNode ? await nodePart() : null;
      if (node !== null) return new node.NodeTransport(url, options.tls ?? {});
      if (options.tls !== undefined) throw new Invalid("TLS options are for Node's own HTTP; give a fetch that has them");
      return new FetchTransport(url, options.fetch ?? ((target, init) => globalThis.fetch(target, init)));
    });
  }
  if (!address.startsWith("rocksdb:") && /^[A-Za-z0-9.[\]:-]+:[0-9]+$/.test(address)) {
    throw new Invalid(`the URL of a server begins with http:// or https://, unlike '${address}'`);
  }
  const scheme = /^([a-z0-9]+):/.exec(address)?.[1];
  if (scheme !== undefined && scheme !== "rocksdb") {
    throw new Invalid(`a client talks to a server or a directory: run 'once serve' on that ${scheme} store`);
  }
  const directory = address.replace(/^rocksdb:/, "");
  const base = directory.startsWith("/") || process === undefined ? "" : `${process.cwd()}/`;
  return new LazyTransport(base + directory, async () => {
    const node = await nodePart();
    if (node === null) throw new Invalid("a directory can be opened where Node's modules are; give a URL");
    return new node.DirectoryTransport(base + directory, started);
  });
}

function checkUrl(url: string): void {
  let parts: URL | undefined;
  try {
    parts = new URL(url);
  } catch {
    // Told below, without what may be a secret.
  }
  if (!parts || parts.username !== "" || parts.password !== "" || parts.search !== "" || parts.hash !== "") {
    throw new Invalid(`not the URL of a server: ${parts ? `${parts.protocol}//${parts.host}` : "it cannot be read"}`);
  }
}

/** A client of a server of Once. Any number of calls may be under way at once. */
export class Client {
  /** @internal */
  readonly core: Core;

  /** @internal Use `connect`. */
  constructor(address: string, options: ConnectOptions) {
    const transport = transportFor(address, options, (directory) => this.core.tell("server_started", { directory }));
    this.core = new Core(transport, {
      token: (options.token === undefined ? environment("ONCE_TOKEN") : options.token) ?? undefined,
      namespace: (options.namespace === undefined ? environment("ONCE_NAMESPACE") : options.namespace) ?? undefined,
      patience: values.milliseconds(options.patience ?? "60s"),
      timeout: values.milliseconds(options.timeout ?? "10s"),
      owner: options.owner,
      onNotice: options.onNotice,
    });
  }

  /** Of the server; before the first call, the address that was given. */
  get url(): string {
    return this.core.transport.url;
  }

  /**
   * Runs the work unless the key has an outcome, and records its result with its effects as one commit.
   *
   * Throws what the work throws; the key is free then. Throws `Busy` if another attempt is under way (give `wait`),
   * `Mismatch` for another payload, `Fenced` if the lease was lost, and an `OnceError` with code `failed` for a key that
   * failed for good. The result is as it comes back from JSON, the first time too.
   */
  run<T>(key: string, work: Work<T>, options: RunOptions = {}): Promise<values.Outcome<T>> {
    return run(this.core, key, work, options);
  }

  /** The function, made to run once for each key; repeats get its result. `key` and `payload` get its arguments. */
  idempotent<A extends any[], T>(
    key: (...args: A) => string,
    work: (...args: A) => T | Promise<T>,
    options: Omit<RunOptions, "payload"> & { payload?: ((...args: A) => unknown) | undefined } = {},
  ): (...args: A) => Promise<T> {
    const { payload, ...rest } = options;
    return async (...args: A): Promise<T> => {
      const { result } = await this.run(key(...args), () => work(...args), { ...rest, payload: payload?.(...args) });
      return result;
    };
  }

  /** Whether each id is here for the first time. A repeat with the same `request` is told the same. */
  async seen(
    ids: readonly string[],
    options: { ttl?: values.Duration | undefined; request?: string | undefined } = {},
  ): Promise<boolean[]> {
    if (!Array.isArray(ids)) throw new Invalid("ids is an array of strings");
    if (ids.length === 0) return [];
    const body = {
      ids: ids.map(checkName),
      request: options.request ?? (await this.core.newId()),
      ...present({ ttl: options.ttl === undefined ? undefined : values.durationText(options.ttl) }),
    };
    const first: unknown = fieldOf(await this.core.ask("POST", "/v1/seen", body), "first");
    if (!Array.isArray(first) || first.length !== ids.length) throw new Unknown("the answer is not about these ids");
    return first.map(Boolean);
  }

  /** When an id was first seen, or null. */
  async seenRecord(id: string): Promise<values.SeenRecord | null> {
    const body = await orNull(this.core.ask("GET", path("seen", id)));
    if (body === null) return null;
    return { id: String(body["id"] ?? id), at: values.parseTime(body["at"]), until: values.parseTime(body["until"]) };
  }

  /** It is first again. False if it was not seen. Sent once: a repeat might forget what was seen since. */
  forgetSeen(id: string): Promise<boolean> {
    return removed(this.core.call(this.core.request("DELETE", path("seen", id), undefined, { repeat: false, expect: "nothing" })));
  }

  /** Several effects at once. A repeat under the same id does nothing. */
  commit(effects: Effects, options: { id?: string | undefined } = {}): Promise<values.Committed> {
    return commit(this.core, effects, options);
  }

  /**
   * The effects as a token, for `select once.apply($1)` in a transaction of your own: they happen if that commits. A token can be
   * applied for a minute. Null: under this id they have happened. Only on a store on PostgreSQL.
   */
  async prepare(effects: Effects, options: { id?: string | undefined } = {}): Promise<string | null> {
    return (await prepare(this.core, effects, options)).token;
  }

  /** One key's claim, by hand. */
  claim(key: string): Claim {
    return new Claim(this.core, key);
  }

  /** A log, which exists once something was appended. */
  log(stream: string): Log {
    return new Log(this.core, stream);
  }

  /** A document. */
  document(key: string): Document {
    return new Document(this.core, key);
  }

  /** A tally, whose kind is fixed by the first change. */
  tally(key: string): Tally {
    return new Tally(this.core, key);
  }

  #list<T>(noun: string, member: string, parameters: Record<string, string | number | undefined>, make: (raw: any) => T): Listing<T> {
    return new Listing(async (cursor) => {
      const body = await this.core.ask("GET", query(`/v1/${noun}`, { ...parameters, cursor }));
      return { page: (body[member] ?? []).map(make), cursor: body["cursor"] };
    });
  }

  /** Claims: `await` gives all of them, `for await` goes page by page. */
  claims(
    options: ListOptions & { state?: string | undefined; owner?: string | undefined; olderThan?: values.Duration | undefined } = {},
  ): Listing<values.ClaimRecord> {
    const { olderThan, state, owner, prefix, limit } = options;
    const older_than = olderThan === undefined ? undefined : values.durationText(olderThan);
    return this.#list("claims", "claims", { state, owner, prefix, older_than, limit }, (raw) => claimRecord(raw));
  }

  /** Logs. */
  logs(options: ListOptions = {}): Listing<values.LogInfo> {
    return this.#list("logs", "logs", { ...options }, (raw) => logInfo(raw));
  }

  /** Documents, without their values. */
  documents(options: ListOptions = {}): Listing<values.DocumentInfo> {
    return this.#list("docs", "docs", { ...options }, (raw) => ({
      key: String(raw.key),
      etag: values.unquoted(String(raw.etag ?? "")),
      bytes: Number(raw.bytes ?? 0),
      contentType: String(raw.content_type ?? ""),
    }));
  }

  /** Tallies, without their values. */
  tallies(options: ListOptions = {}): Listing<values.TallyInfo> {
    return this.#list("tallies", "tallies", { ...options }, (raw) => ({
      key: String(raw.key),
      kind: String(raw.kind ?? ""),
      window: raw.window ?? null,
    }));
  }

  /** Many values in order, null for those that do not exist. */
  async readTallies(keys: readonly string[], range: Range = {}): Promise<any[]> {
    const asked = { keys: keys.map(checkName), ...present(rangeOf(range)) };
    const body = await this.core.ask("POST", "/v1/tallies/read", asked, { asks: true });
    return (body["values"] ?? []).map((one: any) => (one === null ? null : tallyValue(one.value)));
  }

  /**
   * In bounded steps until there is no cursor. A repeat of a step finds nothing left to do, except that a repeated release might free what
   * others have claimed since: each of its steps is sent once.
   */
  async #bulk(what: string, action: string, counts: string, options: BulkOptions & { state?: string | undefined }): Promise<number> {
    const { prefix, state, owner, olderThan, dryRun } = options;
    const older_than = olderThan === undefined ? undefined : values.durationText(olderThan);
    const fields = present({ prefix, state, owner, older_than, dry_run: dryRun || undefined });
    const repeat = action !== "release";
    let done = 0;
    let cursor: unknown;
    do {
      const body = await this.core.ask("POST", `/v1/bulk/${what}/${action}`, { ...fields, ...present({ cursor }) }, { repeat });
      done += Number(body[counts] ?? 0);
      cursor = body["cursor"];
    } while (cursor);
    return done;
  }

  /** Forgets many claims; how many. */
  forgetClaims(options: BulkOptions & { state?: string | undefined }): Promise<number> {
    return this.#bulk("claims", "forget", "forgotten", options);
  }

  /** Frees claims that failed for good; how many. */
  retryClaims(options: BulkOptions): Promise<number> {
    return this.#bulk("claims", "retry", "retried", options);
  }

  /** Frees claims that are busy or abandoned, without their tickets; how many. Their holders are fenced. */
  releaseClaims(options: BulkOptions & { state?: string | undefined }): Promise<number> {
    return this.#bulk("claims", "release", "released", options);
  }

  /** Deletes logs; how many. */
  deleteLogs(prefix: string, options: { dryRun?: boolean } = {}): Promise<number> {
    return this.#bulk("logs", "delete", "deleted", { prefix, ...options });
  }

  /** Deletes documents; how many. */
  deleteDocuments(prefix: string, options: { dryRun?: boolean } = {}): Promise<number> {
    return this.#bulk("docs", "delete", "deleted", { prefix, ...options });
  }

  /** Deletes tallies; how many. */
  deleteTallies(prefix: string, options: { dryRun?: boolean } = {}): Promise<number> {
    return this.#bulk("tallies", "delete", "deleted", { prefix, ...options });
  }

  /** The keys with most conflicts of late. */
  async hot(): Promise<values.HotKey[]> {
    const body = await this.core.ask("GET", "/v1/hot");
    return (body["keys"] ?? []).map((one: any) => ({ key: String(one.key), conflicts: Number(one.conflicts) }));
  }

  /** A CloudEvent 1.0, processed once. Throws `Busy` while another delivery is processed. */
  async sendEvent(event: Readonly<Record<string, unknown>>): Promise<values.EventStatus> {
    return eventStatus(await this.core.ask("POST", "/v1/events", event, { contentType: "application/cloudevents+json" }));
  }

  /** A batch of CloudEvents; one status each. */
  async sendEvents(events: readonly Readonly<Record<string, unknown>>[]): Promise<values.EventStatus[]> {
    const request = this.core.request("POST", "/v1/events", events, { contentType: "application/cloudevents-batch+json" });
    const body: unknown = (await this.core.call(request)).json();
    if (!Array.isArray(body)) throw new Unknown("the answer is not about these events");
    return body.map(eventStatus);
  }

  /** Who may come in. */
  get tokens(): Tokens {
    return new Tokens(this.core);
  }

  /** All items of the store as they are. */
  items(options: { limit?: number | undefined } = {}): Listing<Record<string, unknown>> {
    return this.#list("items", "items", { ...options }, (raw) => raw as Record<string, unknown>);
  }

  /** Puts items where there is nothing yet. The same again changes nothing. */
  importItems(
    items: readonly Readonly<Record<string, unknown>>[],
    options: { withTokens?: boolean | undefined } = {},
  ): Promise<Record<string, number>> {
    return this.core.ask("POST", "/v1/items", { items, ...present({ with_tokens: options.withTokens || undefined }) });
  }

  /** Copies an embedded store, on the server's machine. */
  checkpoint(): Promise<Record<string, unknown>> {
    return this.core.ask("POST", "/v1/checkpoints", undefined, { repeat: false });
  }

  /** Whether the server runs. */
  health(): Promise<Record<string, unknown>> {
    return this.core.ask("GET", "/healthz");
  }

  /** What the token, if there is one, allows: `open`, `access` and others. */
  whoami(): Promise<Record<string, unknown>> {
    return this.core.ask("GET", "/v1/whoami");
  }

  /** Whether the store answers and would take a write. One try. */
  async ready(): Promise<boolean> {
    try {
      await this.core.callOnce(this.core.request("GET", "/readyz"));
      return true;
    } catch (error) {
      if (error instanceof Unavailable) return false;
      throw error;
    }
  }

  /** For Prometheus. */
  async metrics(): Promise<string> {
    return (await this.core.call(this.core.request("GET", "/metrics", undefined, { expect: "text" }))).text();
  }

  /** The contract of the server. */
  async openapi(): Promise<string> {
    return (await this.core.call(this.core.request("GET", "/openapi.yaml", undefined, { expect: "text" }))).text();
  }

  /** Any other call. `repeat` says that it may be sent again after a lost answer. */
  request(
    method: string,
    target: string,
    body?: unknown,
    options: { headers?: Record<string, string>; repeat?: boolean } = {},
  ): Promise<Answer> {
    const { headers = {}, repeat = false } = options;
    return this.core.call(this.core.request(method, target, body, { headers, repeat, expect: "text" }));
  }

  /** Closes all connections. */
  close(): void {
    this.core.transport.close();
  }
}

function eventStatus(raw: any): values.EventStatus {
  if (!isObject(raw)) throw new Unknown("the answer is no JSON object");
  const id = raw["event_id"];
  return {
    status: String(raw["status"] ?? ""),
    eventId: typeof id === "string" ? id : null,
    processedAt: values.parseTime(raw["processed_at"]),
    raw,
  };
}

/** Who may come in. */
export class Tokens {
  /** @internal */
  constructor(private readonly core: Core) {}

  /** All of them, without their secrets. */
  async list(): Promise<values.Token[]> {
    return ((await this.core.ask("GET", "/v1/tokens"))["tokens"] ?? []).map(tokenOf);
  }

  /** Makes one; its secret is in `token`, this once. Sent once: one whose answer was lost is known to no caller. */
  async new(
    options: {
      namespace?: string | undefined;
      readOnly?: boolean | undefined;
      expires?: values.Duration | undefined;
      label?: string | undefined;
    } = {},
  ): Promise<values.Token> {
    const { namespace, readOnly, expires, label } = options;
    const body = present({
      namespace,
      read_only: readOnly || undefined,
      expires: expires === undefined ? undefined : values.durationText(expires),
      label,
    });
    return tokenOf(bodyOf(await this.core.call(this.core.request("POST", "/v1/tokens", body, { repeat: false }))));
  }

  /** It opens nothing any more. False if there was none. */
  revoke(id: string): Promise<boolean> {
    return removed(this.core.call(this.core.request("DELETE", path("tokens", id), undefined, { expect: "nothing" })));
  }
}

function tokenOf(raw: Record<string, any>): values.Token {
  return {
    id: String(raw["id"] ?? ""),
    label: raw["label"] ?? null,
    namespace: raw["namespace"] ?? null,
    readOnly: Boolean(raw["read_only"]),
    createdAt: values.parseTime(raw["created_at"]),
    expiresAt: values.parseTime(raw["expires_at"]),
    token: raw["token"] ?? null,
  };
}
