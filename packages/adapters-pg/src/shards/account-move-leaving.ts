import { setTimeout as delay } from 'node:timers/promises'
import { moveRefused } from './account-move-check.ts'
import { waitForOlder } from './account-move-older.ts'
import { inTime, type MoveRun, slice } from './account-move-run.ts'

/** Pause between two passes over transfers that others have locked or that are under way, in milliseconds. */
const passPauseMs = 100

/** Takes all that the account has out of the tables of the node that it leaves. `pause` notes in the directory that the account is paused. */
export async function packAccount(run: MoveRun, pause: () => Promise<boolean>): Promise<void> {
  const { from, to, move } = run
  const { id, accountId } = move
  inTime(await pause())
  const state = inTime(await from.depart(accountId, to.name, id, move.actor, move.reason))
  run.report('leaving')
  if (state === 'packed') return
  await waitForOlder(run)
  const batch = await from.sharedBatch(accountId)
  if (batch !== undefined)
    throw moveRefused(
      accountId,
      `it has transfers in the batch ${batch}, which is of several accounts; let that complete.`,
    )
  await packFirst(run)
  await packTransfers(run)
}

async function packRest({ from, move, check }: MoveRun, part: 'first' | 'last'): Promise<void> {
  while (inTime(await from.packRest(move.accountId, move.id, part, slice.rows)) > 0) check()
}

/** Nothing else is packed before: a batch of which the transfers are gone would be complete. */
async function packFirst(run: MoveRun): Promise<void> {
  const { from, move, waitMs } = run
  const startMs = performance.now()
  for (;;) {
    await packRest(run, 'first')
    const left = await from.left(move.accountId, 'first')
    if (left === null) return
    if (performance.now() - startMs > waitMs) throw lockedTooLong(run, left)
    await delay(passPauseMs)
  }
}

const lockedTooLong = ({ move, waitMs }: MoveRun, table: string) =>
  moveRefused(
    move.accountId,
    `other transactions lock rows of it in the table ${table}, or handle events of its transfers, for more than ${waitMs} ms; end them, or try again.`,
  )

/** Passes over the transfers until none is left: those that are locked, or under way, are left for a later pass. */
async function packTransfers(run: MoveRun): Promise<void> {
  const { from, move, waitMs } = run
  let progressMs = performance.now()
  for (let packed = 0; ; ) {
    const isImpatient = run.isImpatient()
    const added = await packPass(run, isImpatient, packed)
    packed += added
    await packRest(run, 'last')
    const left = inTime(await from.packEnd(move.accountId, move.id))
    if (left === '') return run.report('packed', packed)
    if (added > 0 || !isImpatient) progressMs = performance.now()
    if (performance.now() - progressMs > waitMs) throw lockedTooLong(run, left)
    await delay(passPauseMs)
  }
}

async function packPass(run: MoveRun, isAll: boolean, before: number): Promise<number> {
  const { from, move } = run
  let packed = 0
  let after: string | null = ''
  while (after !== null) {
    run.check()
    const page: { readonly packed: number; readonly lastKey: string | null } = inTime(
      await from.pack(move.accountId, move.id, after, slice.transfers, isAll),
    )
    after = page.lastKey
    packed += page.packed
    run.report('packing', before + packed)
  }
  return packed
}
