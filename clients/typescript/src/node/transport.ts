/** Sends requests with Node's own HTTP, and says what became of each: answered, lost or never sent. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import * as http from "node:http";
import * as https from "node:https";
import type { TlsOptions } from "../client.js";
import { Answer, MAX_ANSWER, Reply, Request, Transport } from "../core.js";
import { Lines, broken, joined, refuse } from "../transport.js";
import { Address, Directory, challenge } from "./directory.js";

const CONNECT_WITHIN = 5000;
const FOLLOW_TIMEOUT = 45_000; // A server sends a heartbeat every 15 s.
const IDLE = 30_000; // Of a connection that is kept.
const PROOF_WITHIN = 2000;

/** A server: where it is, and how to reach it. */
class Place {
  readonly secure: boolean;
  readonly #parts: URL;
  readonly #prefix: string;

  constructor(readonly url: string, private readonly tls: object) {
    this.#parts = new URL(url);
    this.#prefix = this.#parts.pathname.replace(/\/+$/, "");
    this.secure = this.#parts.protocol === "https:";
  }

  agent(sockets: number): http.Agent {
    const options = { keepAlive: true, maxSockets: sockets, maxFreeSockets: 64, timeout: IDLE, noDelay: true, scheduling: "lifo" };
    return this.secure ? new https.Agent({ ...options, ...this.tls }) : new http.Agent(options);
  }

  /** `agent` false: a connection of its own, which is closed afterwards. */
  request(request: Request, agent: http.Agent | false): http.ClientRequest {
    const headers: Record<string, string | number> = { ...request.headers };
    if (request.body !== undefined) {
      headers["Content-Length"] =
        typeof request.body === "string" ? Buffer.byteLength(request.body) : request.body.length;
    }
    return (this.secure ? https : http).request({
      ...(this.secure ? this.tls : {}),
      hostname: this.#parts.hostname.replace(/^\[|\]$/g, ""),
      port: this.#parts.port || (this.secure ? 443 : 80),
      path: this.#prefix + request.target,
      method: request.method,
      headers,
      agent,
      noDelay: true,
    });
  }
}

/** An error after which it is known that no byte of the request left. */
class NotSent extends Error {}

/** Ends a request when its time is over or its caller wants so. Tells whether the connection was made. */
function supervised(place: Place, sent: http.ClientRequest, timeout: number, signal: AbortSignal | undefined) {
  let connected = false;
  let connecting: ReturnType<typeof setTimeout> | undefined;
  const abort = (): void => sent.destroy(new Error("it was aborted"));
  const timer = setTimeout(() => sent.destroy(new Error("it took too long")), timeout);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  sent.on("socket", (socket) => {
    connected = sent.reusedSocket || !socket.connecting;
    if (connected) return;
    connecting = setTimeout(() => sent.destroy(new Error("cannot connect in time")), Math.min(timeout, CONNECT_WITHIN));
    socket.once(place.secure ? "secureConnect" : "connect", () => {
      connected = true;
      clearTimeout(connecting);
    });
  });
  return {
    get connected(): boolean {
      return connected;
    },
    /** No time limit from now on but the caller's. */
    relax(): void {
      clearTimeout(timer);
      clearTimeout(connecting);
    },
    end(): void {
      this.relax();
      signal?.removeEventListener("abort", abort);
    },
  };
}

function headersOf(response: http.IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}

/** One request and its answer. Rejects with `NotSent` if no connection was made, and with other errors if it is lost. */
function exchange(
  place: Place,
  request: Request,
  agent: http.Agent | false,
  timeout: number,
  signal?: AbortSignal,
  look?: (response: http.IncomingMessage) => void,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = place.request(request, agent);
    const watch = supervised(place, sent, timeout, signal);
    let done = false;
    const fail = (error: Error): void => {
      done = true;
      watch.end();
      reject(watch.connected || error instanceof NotSent ? error : new NotSent(error.message));
    };
    sent.on("error", fail);
    sent.on("response", (response) => {
      const pieces: Uint8Array[] = [];
      let size = 0;
      const lost = (): void => {
        if (!done) fail(new Error("the answer broke off"));
      };
      try {
        look?.(response);
      } catch (error) {
        sent.destroy(error as Error);
      }
      response.on("data", (piece) => {
        pieces.push(piece);
        size += piece.length;
        if (size > MAX_ANSWER) sent.destroy(new Error("the answer is too long"));
      });
      response.on("error", lost);
      response.on("close", lost);
      response.on("end", () => {
        if (!response.complete) return lost();
        done = true;
        watch.end();
        resolve(new Answer(response.statusCode ?? 0, headersOf(response), joined(pieces, size)));
      });
    });
    sent.end(request.body);
  });
}

async function replyOf(answer: Promise<Answer>): Promise<Reply> {
  try {
    return await answer;
  } catch (error) {
    const text = error instanceof Error ? error.message || String((error as { code?: string }).code ?? error.name) : String(error);
    return error instanceof NotSent ? { unsent: `cannot reach the server: ${text}` } : { lost: text };
  }
}

/** The lines of a stream of events on a connection of its own. */
async function* linesOf(
  place: Place,
  request: Request,
  agent: http.Agent | false,
  timeout: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, void> {
  const sent = place.request(request, agent);
  const watch = supervised(place, sent, timeout, signal);
  try {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      sent.on("error", reject);
      sent.on("response", resolve);
      sent.end();
    });
    if (response.statusCode !== 200 || !String(response.headers["content-type"]).includes("text/event-stream")) {
      const pieces: Uint8Array[] = [];
      for await (const piece of response) pieces.push(piece);
      refuse(request, new Answer(response.statusCode ?? 0, headersOf(response), joined(pieces, pieces.reduce((n, p) => n + p.length, 0))));
    }
    watch.relax();
    response.socket.setTimeout(FOLLOW_TIMEOUT, () => sent.destroy(new Error("nothing came for too long")));
    const decoder = new TextDecoder();
    const lines = new Lines();
    for await (const piece of response) yield* lines.take(decoder.decode(piece, { stream: true }));
    throw new Error("the stream ended");
  } finally {
    watch.end();
    sent.on("error", () => undefined);
    sent.destroy();
  }
}

/** For a server at a URL. */
export class NodeTransport implements Transport {
  readonly #place: Place;
  readonly #agent: http.Agent;

  constructor(readonly url: string, tls: TlsOptions) {
    this.#place = new Place(url, tls);
    this.#agent = this.#place.agent(Infinity);
  }

  send(request: Request, timeout: number, signal?: AbortSignal): Promise<Reply> {
    // What may not be sent twice goes on a fresh connection (docs/hazards.md#h40).
    return replyOf(exchange(this.#place, request, request.repeat ? this.#agent : false, timeout, signal));
  }

  async *lines(request: Request, timeout: number, signal?: AbortSignal): AsyncGenerator<string, void, void> {
    try {
      yield* linesOf(this.#place, request, false, timeout, signal);
    } catch (error) {
      throw broken(error);
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** What is connected has not proved that it is the directory's server. */
class Unproven extends NotSent {}

/** One connection, whose server has proved itself. It is never replaced by another one in secret. */
interface Lane {
  readonly place: Place;
  readonly agent: http.Agent;
}

export async function provenLane(address: Address, timeout: number): Promise<Lane> {
  // Its certificate is compared by hand: it may have any name and any authority.
  const place = new Place(address.url, { rejectUnauthorized: false });
  const agent = place.agent(1);
  const asked = challenge(address);
  const request: Request = {
    method: "GET", target: "/healthz", headers: { "Once-Prove": asked.number }, body: undefined, repeat: true, expect: "json",
  };
  const look = (response: http.IncomingMessage): void => {
    if (!place.secure) return;
    const shown = response.socket.getPeerCertificate?.().raw ?? new Uint8Array();
    if (!address.certificates.has(createHash("sha256").update(shown).digest("hex"))) {
      throw new Unproven("the certificate is not that of the directory's server");
    }
  };
  try {
    const answer = await exchange(place, request, agent, Math.min(timeout, PROOF_WITHIN), undefined, look);
    if (!asked.isAnsweredBy(answer)) throw new Unproven("what listens there is not the directory's server");
  } catch (error) {
    agent.destroy();
    throw new Unproven(error instanceof Error ? error.message : String(error));
  }
  agent.createConnection = (_, done) => {
    done(new Unproven("a new connection has not proved its server yet"));
    return undefined;
  };
  return { place, agent };
}

/** For the server that owns a directory. Each connection proves its server before anything else is sent on it. */
export class DirectoryTransport implements Transport {
  readonly #directory: Directory;
  #address: Address | undefined;
  #finding: Promise<Address> | undefined;
  #lanes: Lane[] = [];

  constructor(path: string, onStart: (path: string) => void) {
    this.#directory = new Directory(path, (address) => this.#proves(address), onStart);
  }

  get url(): string {
    return this.#address?.url ?? this.#directory.path;
  }

  async #proves(address: Address): Promise<boolean> {
    try {
      this.#keep(await provenLane(address, 1000));
      return true;
    } catch {
      return false;
    }
  }

  async #find(timeout: number): Promise<Address> {
    if (this.#address !== undefined) return this.#address;
    this.#finding ??= this.#directory.find(timeout).finally(() => (this.#finding = undefined));
    try {
      return (this.#address = await this.#finding);
    } catch (error) {
      throw new NotSent(error instanceof Error ? error.message : String(error));
    }
  }

  #keep(lane: Lane): void {
    if (this.#lanes.length < 64) this.#lanes.push(lane);
    else lane.agent.destroy();
  }

  /** It may be gone: who has the directory is asked anew. */
  #forget(): void {
    this.#address = undefined;
    for (const lane of this.#lanes.splice(0)) lane.agent.destroy();
  }

  send(request: Request, timeout: number, signal?: AbortSignal): Promise<Reply> {
    return replyOf(this.#sent(request, timeout, signal));
  }

  async #sent(request: Request, timeout: number, signal: AbortSignal | undefined): Promise<Answer> {
    const address = await this.#find(timeout);
    let lane: Lane | undefined;
    try {
      for (;;) {
        lane = (request.repeat ? this.#lanes.pop() : undefined) ?? undefined;
        const fresh = lane === undefined;
        lane ??= await provenLane(address, timeout);
        try {
          const answer = await exchange(lane.place, request, lane.agent, timeout, signal);
          this.#keep(lane);
          return answer;
        } catch (error) {
          // Nothing was sent: the connection had been closed meanwhile. Another proves itself.
          if (!(error instanceof Unproven) || fresh) throw error;
          lane.agent.destroy();
        }
      }
    } catch (error) {
      lane?.agent.destroy();
      this.#forget();
      throw error;
    }
  }

  async *lines(request: Request, timeout: number, signal?: AbortSignal): AsyncGenerator<string, void, void> {
    let lane: Lane | undefined;
    try {
      lane = await provenLane(await this.#find(timeout), timeout);
      yield* linesOf(lane.place, request, lane.agent, timeout, signal);
    } catch (error) {
      this.#forget();
      throw broken(error);
    } finally {
      lane?.agent.destroy();
    }
  }

  close(): void {
    this.#forget();
  }
}
