import type { ApproveBatchOptions, Batch, BatchReview, OperatorNote } from '@outlay/core'
import { plural, printable } from '../output/table.ts'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'

/** Prints a batch with its counts, and with what is held for approval in it. */
export async function showBatch(session: Session, batchId: string): Promise<void> {
  const batch = await findBatch(session, batchId)
  const review = await session.engine.batches.review(batchId)
  session.write({ ...batch, review }, () => `${formatBatch(batch)}${formatReview(review)}`)
}

/** Lets a batch take no further transfers. */
export async function closeBatch(session: Session, batchId: string, by?: OperatorNote): Promise<void> {
  await findBatch(session, batchId)
  const changed = await session.transaction((tx) => session.engine.batches.close(tx, batchId, by))
  session.begin(changed ? `${batchId} is closed.` : `${batchId} was closed before; nothing changed.`)
  await writeAfter(session, batchId, { changed })
}

/** Keeps the transfers of a batch from being submitted. */
export async function pauseBatch(session: Session, batchId: string, by?: OperatorNote): Promise<void> {
  await findBatch(session, batchId)
  const changed = await session.transaction((tx) => session.engine.batches.pause(tx, batchId, by))
  session.begin(
    changed
      ? `${batchId} is paused. Requests under way are finished; the rest waits for "outlay batches resume ${batchId}".`
      : `${batchId} is paused already; nothing changed.`,
  )
  await writeAfter(session, batchId, { changed })
}

/** Resumes a paused batch. */
export async function resumeBatch(session: Session, batchId: string, by?: OperatorNote): Promise<void> {
  await findBatch(session, batchId)
  const changed = await session.transaction((tx) => session.engine.batches.resume(tx, batchId, by))
  session.begin(
    changed
      ? `${batchId} is resumed; workers send its transfers within seconds.`
      : `${batchId} is not paused; nothing changed.`,
  )
  await writeAfter(session, batchId, { changed })
}

/** Approves the held transfers of a batch, all of them or none. */
export async function approveBatch(session: Session, batchId: string, approval: ApproveBatchOptions): Promise<void> {
  await findBatch(session, batchId)
  const result = await session.transaction((tx) => session.engine.batches.approve(tx, batchId, approval))
  const { approved, released } = result
  session.begin(`${plural(approved, 'transfer')} of ${batchId} approved, of which ${released} are sent now.`)
  await writeAfter(session, batchId, result)
}

/** Closes a batch and cancels what has no effect. */
export async function cancelBatch(session: Session, batchId: string, by?: OperatorNote): Promise<void> {
  await findBatch(session, batchId)
  const { canceled, unended } = await session.transaction((tx) => session.engine.batches.cancel(tx, batchId, by))
  const rest =
    unended === 0
      ? ''
      : ` Money of ${plural(unended, 'transfer')} may have moved: ${unended === 1 ? 'it carries' : 'these carry'} on.`
  session.begin(`${plural(canceled, 'transfer')} of ${batchId} canceled, and it takes no further ones.${rest}`)
  await writeAfter(session, batchId, { canceled, unended })
}

/** The batch of an id; refuses one that there is not. */
export async function findBatch({ engine }: Session, batchId: string): Promise<Batch> {
  const batch = await engine.batches.get(batchId)
  if (batch !== undefined) return batch
  const next = 'Write the id that batches.create returned; the view "batches" has all of them.'
  throw new Misuse(`There is no batch "${printable(batchId)}" here.`, next)
}

/** Prints how the batch is now. The command has committed by then, and must not seem to have failed. */
async function writeAfter(session: Session, batchId: string, done: object): Promise<void> {
  const batch = await session.engine.batches.get(batchId).catch(() => undefined)
  session.write({ batchId, ...done, batch }, () => (batch === undefined ? '' : `\n${formatBatch(batch)}`))
}

/** A line for what is held for approval; nothing where nothing is. */
function formatReview(review: BatchReview | undefined): string {
  if (review === undefined || review.transfers === 0) return ''
  const totals = Object.entries(review.totals).map(([currency, value]) => `${value} ${currency}`)
  return printable(
    `\n${plural(review.transfers, 'transfer')} to approve, of ${totals.join(' and ')} in all; "outlay batches approve --digest ${review.digest}" approves these and no others`,
  )
}

function formatBatch({ id, accountId, key, state, paused, counts, completedAt }: Batch): string {
  const { total, unended, complete, failed, canceled, resubmitted } = counts
  const name = [`batch ${id}`, key === null ? '' : `(${key})`, accountId === null ? '' : `of ${accountId}`]
  const since = completedAt === null ? '' : ` since ${completedAt}`
  return printable(
    `${name.filter((part) => part !== '').join(' ')}: ${state}${since}${paused ? ', paused' : ''}; ${plural(total, 'transfer')}: ` +
      `${complete} complete, ${failed} failed, ${canceled} canceled, ${unended} not ended` +
      `${resubmitted === 0 ? '' : `; ${resubmitted} resubmitted`}`,
  )
}
