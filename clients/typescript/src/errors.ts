/** What can go wrong. Each error has the stable `code` of the server's problem+json. */

export interface ErrorDetails {
  code?: string;
  status?: number | undefined;
  problem?: Readonly<Record<string, unknown>>;
  failure?: unknown;
  cause?: unknown;
}

/**
 * The base of all errors of this package. Nothing was written unless the code is `unknown`.
 * A key that failed for good has the code `failed`, and `failure` is what was stored.
 */
export class OnceError extends Error {
  override readonly name: string = "OnceError";
  /** The server's stable code. */
  readonly code: string;
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined;
  /** The whole body of the refusal. */
  readonly problem: Readonly<Record<string, unknown>>;
  /** What was stored for a key that failed for good. */
  readonly failure: unknown;
  /** Seconds until the server wants to be asked again, if it said so. */
  retryAfter: number | undefined;

  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail || details.code || "unknown", details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code ?? "unknown";
    this.status = details.status;
    this.problem = details.problem ?? {};
    this.failure = details.failure;
  }
}

/** Another attempt holds the key. Come back later, or give `wait`. */
export class Busy extends OnceError {
  override readonly name = "Busy";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "busy", ...details });
  }
  /** The label of the holder. */
  get owner(): string | undefined {
    return text(this.problem["owner"]);
  }
  /** When the holder's lease ends, as the server wrote it. */
  get leaseUntil(): string | undefined {
    return text(this.problem["lease_until"]);
  }
}

/** The lease was lost, and another attempt may hold the key. Stop. */
export class Fenced extends OnceError {
  override readonly name = "Fenced";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "fenced", ...details });
  }
}

/** The same key or id with another content. */
export class Mismatch extends OnceError {
  override readonly name = "Mismatch";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "mismatch", ...details });
  }
}

/** Nothing was written: the server or its store could not be reached for long enough. */
export class Unavailable extends OnceError {
  override readonly name = "Unavailable";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "unavailable", ...details });
  }
}

/** It may have happened, or may not: the answer was lost, and no repeat was answered. */
export class Unknown extends OnceError {
  override readonly name = "Unknown";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "unknown", ...details });
  }
}

/** The request cannot be understood, and nothing was written. */
export class Invalid extends OnceError {
  override readonly name = "Invalid";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "invalid", ...details });
  }
}

/** A condition did not hold. Nothing was written. */
export class PreconditionFailed extends OnceError {
  override readonly name = "PreconditionFailed";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "precondition_failed", ...details });
  }
  /** The ETag of the document as it is now, if there is one. */
  get current(): string | undefined {
    return text(this.problem["current"]);
  }
  /** The next index of the log, if it was an append that was refused. */
  get next(): number | undefined {
    const next = this.problem["next"];
    return typeof next === "number" ? next : undefined;
  }
}

/** There is nothing of this name. */
export class NotFound extends OnceError {
  override readonly name = "NotFound";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "not_found", ...details });
  }
}

/** Others always changed it first. */
export class Contended extends OnceError {
  override readonly name = "Contended";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "contended", ...details });
  }
}

/** The log is closed. */
export class Closed extends OnceError {
  override readonly name = "Closed";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "closed", ...details });
  }
}

/** The token is missing, wrong, or does not allow it. */
export class Denied extends OnceError {
  override readonly name = "Denied";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "forbidden", ...details });
  }
}

/** More than the server or its store takes. Nothing was written. */
export class TooLarge extends OnceError {
  override readonly name = "TooLarge";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "too_large", ...details });
  }
}

/** The store cannot do this. */
export class Unsupported extends OnceError {
  override readonly name = "Unsupported";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "unsupported", ...details });
  }
}

/** What is stored is damaged. */
export class Corrupt extends OnceError {
  override readonly name = "Corrupt";
  constructor(detail = "", details: ErrorDetails = {}) {
    super(detail, { code: "corrupt", ...details });
  }
}

type Kind = new (detail?: string, details?: ErrorDetails) => OnceError;

const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["busy", Busy],
  ["fenced", Fenced],
  ["mismatch", Mismatch],
  ["unavailable", Unavailable],
  ["overloaded", Unavailable],
  ["unknown", Unknown],
  ["invalid", Invalid],
  ["precondition_required", Invalid],
  ["precondition_failed", PreconditionFailed],
  ["not_found", NotFound],
  ["contended", Contended],
  ["closed", Closed],
  ["unauthorized", Denied],
  ["forbidden", Denied],
  ["too_large", TooLarge],
  ["unsupported", Unsupported],
  ["corrupt", Corrupt],
]);

/** Whether a server of Once answers with this code. */
export function isKnownCode(code: unknown): code is string {
  return typeof code === "string" && KINDS.has(code);
}

/** The error for a problem that a server of Once answered with. */
export function errorOf(code: string, problem: Record<string, unknown>, status: number): OnceError {
  const detail = String(problem["detail"] || problem["title"] || code);
  return new (KINDS.get(code) ?? OnceError)(detail, { code, status, problem });
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
