/**
 * Things take effect once, on a world that delivers at least once.
 *
 *     import { connect } from "once-client";
 *     const client = connect("http://127.0.0.1:7600");
 *     const { result, replayed } = await client.run("invoice-42", async (attempt) => charge(attempt.fence));
 *
 * @packageDocumentation
 */
export { Claim, type TakeOptions } from "./claims.js";
export { Client, type ConnectOptions, type TlsOptions, Tokens, connect } from "./client.js";
export { Answer, Listing } from "./core.js";
export { Document, type PutOptions, type UpdateOptions } from "./document.js";
export { type Amount, type Condition, Effects, type TallyOptions } from "./effects.js";
export {
  Busy,
  Closed,
  Contended,
  Corrupt,
  Denied,
  Fenced,
  Invalid,
  Mismatch,
  NotFound,
  OnceError,
  PreconditionFailed,
  TooLarge,
  Unavailable,
  Unknown,
  Unsupported,
} from "./errors.js";
export { type Rules } from "./guard.js";
export { express, fetchHandler } from "./http.js";
export { type LambdaOptions, lambdaHandler } from "./lambda.js";
export { Attempt } from "./lease.js";
export { type AppendOptions, type FollowOptions, Log, type ReadOptions } from "./log.js";
export { type RunOptions, type Work, currentAttempt } from "./run.js";
export { type AddOptions, type Range, Tally } from "./tally.js";
export { type Notice } from "./telemetry.js";
export {
  type Appended,
  type Bucket,
  type ClaimRecord,
  type Committed,
  type DocumentInfo,
  type Duration,
  type ETagLike,
  type Event,
  type EventStatus,
  type Finished,
  type HotKey,
  LogEvent,
  type LogInfo,
  type Outcome,
  Page,
  type Previous,
  type SeenRecord,
  type Snapshot,
  type Tallied,
  type TallyInfo,
  type TallyKind,
  type Ticket,
  type Time,
  type Token,
  type TopItem,
  Written,
} from "./values.js";
