/**
 * The screenshot worker in TypeScript: a Lambda on an SQS queue of jobs (job.h has their form). Each job ends with one picture, whose
 * address is its result, however often its message is delivered.
 *
 *     export const handler = worker(connect(), "/mnt/shots");
 */
import { createHash } from "node:crypto";
import { mkdir, open, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Client, OnceError } from "once-client";

export interface Job {
  readonly id: string;
  readonly page: string;
  readonly width: number;
  readonly height: number;
}

export type Render = (job: Job, signal: AbortSignal) => Promise<string>;

interface Delivery {
  readonly messageId: string;
  readonly body: string;
}

/** Null if the message is not a job. */
export function jobIn(message: string): Job | null {
  try {
    const { id, data } = JSON.parse(message);
    const job = { width: 320, height: 200, ...data, id };
    const fits = [job.width, job.height].every((side) => Number.isInteger(side) && side >= 1 && side <= 2000);
    return /^[\w-]{1,100}$/.test(id) && typeof job.page === "string" && job.page !== "" && fits ? job : null;
  } catch {
    return null;
  }
}

/** In place of a browser: a picture that depends on the page's address and on nothing else. */
export const drawn: Render = async ({ page, width, height }) => {
  const colour = createHash("sha256").update(page).digest("hex").slice(0, 6);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="100%" height="100%" fill="#${colour}"/></svg>`;
};

/** Whole or not at all. The fence, which only rises, is in the name: an attempt that was taken over writes beside the new one's picture. */
async function keep(shots: string, job: Job, fence: number, picture: string): Promise<string> {
  const path = join(resolve(shots), `${job.id}.${fence}.svg`);
  await mkdir(resolve(shots), { recursive: true });
  const draft = await open(`${path}.draft`, "w");
  try {
    await draft.writeFile(picture);
    await draft.sync();
  } finally {
    await draft.close();
  }
  await rename(`${path}.draft`, path);
  return `file://${path}`;
}

/** The address of the job's picture. */
export async function shoot(client: Client, { messageId, body }: Delivery, shots: string, render: Render = drawn): Promise<string> {
  const job = jobIn(body);
  const { result } = await client.run(`shot-${job?.id ?? messageId}`, async (attempt) => {
    if (job === null) return attempt.giveUp("the message is not a job");
    const picture = await render(job, attempt.signal); // Ends when the lease is lost.
    attempt.check();
    const address = await keep(shots, job, attempt.fence, picture);
    attempt.effects.append("shots", { id: job.id, address }); // One commit with the result.
    return address;
  });
  return result;
}

/** A job under way, or one that failed, comes back with its message; one that failed for good does not. */
export function worker(client: Client, shots: string, render?: Render) {
  return async (event: { Records: readonly Delivery[] }) => {
    const batchItemFailures: { itemIdentifier: string }[] = [];
    await Promise.all(event.Records.map(async (delivery) => {
      try {
        await shoot(client, delivery, shots, render);
      } catch (error) {
        if (error instanceof OnceError && error.code === "failed") return;
        batchItemFailures.push({ itemIdentifier: delivery.messageId });
      }
    }));
    return { batchItemFailures };
  };
}
