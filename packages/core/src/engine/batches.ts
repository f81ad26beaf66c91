import { OutlayError } from '../error.ts'
import { Id } from '../id.ts'
import { IdempotencyKey } from '../idempotency.ts'
import { Metadata } from '../metadata.ts'
import { checkNames } from '../option-names.ts'
import type { Batch, BatchPort } from '../ports/batches.ts'
import type { Runtime } from '../ports/runtime.ts'
import { readAnyNote, readGivenNote } from './actors.ts'
import { createHoldingBackRecord, recordCommand } from './audited.ts'
import type { Batches } from './batch-commands.ts'
import { checkExpected, compareReview } from './batch-review.ts'
import { isText } from './checked-text.ts'
import { checkAccountId } from './enqueueing.ts'
import { approveAll, checkApproval, type HoldingBackend } from './holding.ts'
import { createTurns } from './turns.ts'

/** Creates the commands of batches. */
export function createBatches<Tx>(
  backend: BatchPort<Tx> & HoldingBackend<Tx>,
  nextId: () => Id,
  runtime: Parameters<typeof createTurns>[0] & Pick<Runtime, 'logger'>,
): Batches<Tx> {
  const find = createFind(backend)
  return {
    async create(tx, given = {}) {
      checkNames(given, ['id', 'key', 'accountId', 'metadata'])
      const { id, key, accountId, metadata } = given
      if (accountId !== undefined) checkAccountId(accountId)
      const batch = await backend.createBatch(tx, {
        id: id === undefined ? nextId() : Id.parse(id),
        key: key === undefined ? null : IdempotencyKey.parse(key, 'key'),
        accountId: accountId ?? null,
        metadata: Metadata.parse(metadata),
      })
      if (batch !== undefined) return batch
      throw new OutlayError('conflict', `Another batch has the id ${id}; leave the id out.`, { field: 'id' })
    },
    get: async (batchId, tx) => (Id.is(batchId) ? backend.getBatch(batchId, tx) : undefined),
    async getByKey(key, options = {}) {
      checkNames(options, ['accountId', 'tx'])
      const { accountId = null, tx } = options
      return isText(key) && (accountId === null || isText(accountId))
        ? backend.getBatchByKey(accountId, key, tx)
        : undefined
    },
    async review(batchId, tx) {
      const batch = Id.is(batchId) ? await backend.getBatch(batchId, tx) : undefined
      return batch === undefined ? undefined : backend.reviewBatch(batchId, tx)
    },
    async close(tx, batchId, note) {
      const by = readAnyNote(note)
      const { counts, state } = await find(batchId, tx)
      if (state === 'open' && counts.total === 0) {
        const message = `Nothing is in the batch ${batchId}, so its completion would have no event; enqueue into it first, or cancel it.`
        throw new OutlayError('conflict', message)
      }
      return backend.closeBatch(tx, batchId, by)
    },
    async cancel(tx, batchId, note) {
      const canceled = Id.is(batchId) ? await cancelNamed(backend, tx, batchId, note) : 0
      const { counts } = await find(batchId, tx)
      return { canceled, unended: counts.unended }
    },
    async approve(tx, batchId, given) {
      const { expected, ...approval } = given ?? {}
      checkApproval(approval)
      checkExpected(given)
      await find(batchId, tx)
      const states = await backend.getHoldsOf(tx, await backend.lockHeldOfBatch(tx, batchId))
      // What has expired ends soon, and does not keep the others from being approved.
      const open = new Map([...states].filter(([, { isExpired }]) => !isExpired))
      // Of these alone: what is enqueued since is neither compared nor approved.
      if (expected !== undefined)
        compareReview(batchId, expected, await backend.reviewBatch(batchId, tx, [...open.keys()]))
      return approveAll(backend, tx, open, approval, createTurns(runtime))
    },
    ...createPausing(backend, runtime, find),
  }
}

/** Makes what finds a batch that a command names. */
function createFind<Tx>(backend: BatchPort<Tx>) {
  return async (batchId: string, tx: Tx): Promise<Batch> => {
    const batch = Id.is(batchId) ? await backend.getBatch(batchId, tx) : undefined
    if (batch !== undefined) return batch
    throw new OutlayError('not_found', `There is no batch ${batchId} here; give the id that create returned.`)
  }
}

/** The commands that keep a batch from being sent, and let it go. */
function createPausing<Tx>(
  backend: BatchPort<Tx> & HoldingBackend<Tx>,
  { logger }: Pick<Runtime, 'logger'>,
  find: (batchId: string, tx: Tx) => Promise<Batch>,
): Pick<Batches<Tx>, 'pause' | 'resume'> {
  const recordHoldingBack = createHoldingBackRecord(backend, logger)
  return {
    async pause(tx, batchId, note) {
      const by = readAnyNote(note)
      await find(batchId, tx)
      if (!(await backend.pauseBatch(tx, batchId))) return false
      await recordHoldingBack(tx, by, { command: 'batches.pause', ...pausing(batchId, true) })
      return true
    },
    async resume(tx, batchId, note) {
      const by = readAnyNote(note)
      await find(batchId, tx)
      if (!(await backend.resumeBatch(tx, batchId))) return false
      await recordCommand(backend, tx, by, { command: 'batches.resume', ...pausing(batchId, false) })
      return true
    },
  }
}

const pausing = (batchId: string, paused: boolean) => ({
  before: { batchId, paused: !paused },
  after: { batchId, paused },
})

/** Cancels a batch and writes down who did. Returns how many transfers were canceled. */
async function cancelNamed<Tx>(
  backend: BatchPort<Tx> & HoldingBackend<Tx>,
  tx: Tx,
  batchId: string,
  note: unknown,
): Promise<number> {
  const { actor = null, reason = null } = readGivenNote(note)
  const held = actor === null ? await backend.lockHeldByPeople(tx, batchId) : undefined
  if (held !== undefined) {
    const message = `is required: people hold the transfer ${held} of the batch, and its end ends that hold`
    throw OutlayError.fromIssues([{ field: 'actor', code: 'missing_field', message }])
  }
  const canceled = await backend.cancelBatch(tx, batchId)
  if (canceled === undefined) return 0
  const after = { batchId, canceled }
  await backend.recordAudit(tx, { command: 'batches.cancel', actor, reason, transferId: null, before: null, after })
  return canceled
}
