/** Several effects as one commit. */
import { Answer, Core, bodyOf, present, stringify } from "./core.js";
import { Effects, withDigits } from "./effects.js";
import { NotFound, PreconditionFailed } from "./errors.js";
import { appended } from "./log.js";
import { tallyValue } from "./tally.js";
import { Committed, Written } from "./values.js";

/** By what a repeat is known: an id, or the claim that the commit completes. */
export interface Identity {
  id?: string | undefined;
  claim?: { key: string; ticket: string; result: unknown } | undefined;
}

/** One commit. */
export async function commit(core: Core, effects: Effects, identity: Identity): Promise<Committed> {
  const known = identity.claim ? { claim: identity.claim } : { id: identity.id ?? (await core.newId()) };
  const { answer } = await send(core, effects, known);
  const ownId = identity.claim === undefined && identity.id === undefined;
  return committed(bodyOf(answer), answer.replayed && !ownId);
}

/** A token for `once.apply`, or null if the commit was made before; and the body that was sent. */
export async function prepare(
  core: Core,
  effects: Effects,
  identity: Identity,
): Promise<{ token: string | null; content: string }> {
  const { answer, content } = await send(core, effects, { prepare: true, ...present({ ...identity }) });
  return { token: tokenIn(answer), content };
}

/** Whether a token that was made for this body has been applied. */
export async function wasApplied(core: Core, content: string): Promise<boolean> {
  return tokenIn(await core.call(core.request("POST", "/v1/commit", undefined, { content }))) === null;
}

function tokenIn(answer: Answer): string | null {
  return answer.replayed ? null : String(bodyOf(answer)["apply"]);
}

async function send(
  core: Core,
  effects: Effects,
  known: Record<string, unknown>,
): Promise<{ answer: Answer; content: string }> {
  const body = {
    ...known,
    ...(effects.logs.length > 0 ? { logs: effects.logs } : {}),
    ...(effects.documents.length > 0 ? { docs: effects.documents.map((part) => part.body()) } : {}),
    ...(effects.tallies.length > 0 ? { tallies: effects.tallies } : {}),
  };
  const content = withDigits(stringify(body));
  try {
    return { answer: await core.call(core.request("POST", "/v1/commit", undefined, { content })), content };
  } catch (error) {
    throw missing(effects, error) ?? error;
  }
}

/** A patch without a condition is refused only if there is nothing to patch. */
function missing(effects: Effects, refused: unknown): NotFound | undefined {
  if (!(refused instanceof PreconditionFailed)) return undefined;
  const index = Number(/^docs\[([0-9]+)\]$/.exec(String(refused.problem["part"]))?.[1]);
  const part = effects.documents[index];
  if (part === undefined || !("patch" in part.change) || part.ifMatch !== undefined) return undefined;
  return new NotFound(`there is no document '${part.key}' to patch`, { status: refused.status, cause: refused });
}

function committed(body: Record<string, any>, replayed: boolean): Committed {
  const list = (name: string): Record<string, any>[] => body[name] ?? [];
  return {
    replayed,
    logs: list("logs").map((one) => appended(one, replayed)),
    documents: list("docs").map((one) => new Written(String(one["etag"] ?? ""), replayed)),
    tallies: list("tallies").map((one) => ({ kind: String(one["kind"] ?? ""), value: tallyValue(one["value"]), replayed })),
  };
}
