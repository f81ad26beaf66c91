import { setTimeout as delay } from 'node:timers/promises'
import { moveRefused, waitForOlder } from './account-move-check.ts'
import type { RowPlace } from './account-move-node.ts'
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
  await waitForOlder(accountId, from, run.waitMs, run.check)
  const batch = await from.sharedBatch(accountId)
  if (batch !== undefined)
    throw moveRefused(
      accountId,
      `it has transfers in the batch ${batch}, which is of several accounts; let that complete.`,
    )
  await packRest(run, 'first')
  await packTransfers(run)
}

async function packRest({ from, move, check }: MoveRun, part: 'first' | 'last'): Promise<void> {
  while (inTime(await from.packRest(move.accountId, move.id, part, slice.rows)) > 0) check()
}

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
    if (left === 0) return run.report('packed', packed)
    if (added > 0 || !isImpatient) progressMs = performance.now()
    if (performance.now() - progressMs > waitMs)
      throw moveRefused(
        move.accountId,
        `other transactions lock ${left} of its transfers or handle their events for more than ${waitMs} ms.`,
      )
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

/** Copies what was packed to the node that the account comes to, and compares the two. Gives the number of transfers. */
export async function copyAccount(run: MoveRun): Promise<number> {
  const { from, to, move } = run
  const { id, accountId } = move
  inTime(await to.expect(accountId, id, move.actor, move.reason))
  await copyRows(run, await to.lastRow(accountId))
  let compared = await compare(run)
  if (!compared.isEqual) {
    // A call that ended earlier may have left a gap behind the last row.
    await copyRows(run, { kind: '', key: '' })
    compared = await compare(run)
  }
  if (!compared.isEqual)
    throw moveRefused(accountId, `the copy on "${to.name}" differs from what "${from.name}" has; try again.`)
  const taken = await to.takenKey(accountId)
  if (taken !== undefined)
    throw moveRefused(
      accountId,
      `the node "${to.name}" has a transfer of its own with the key, id or remote id of ${taken}.`,
    )
  run.report('verified', compared.transfers)
  return compared.transfers
}

async function copyRows(run: MoveRun, begin: RowPlace): Promise<void> {
  const { from, to, move } = run
  let after = begin
  for (let done = 0; ; ) {
    run.check()
    const rows = await from.rows(move.accountId, after, slice.rows)
    const [kind, key] = [rows.kinds.at(-1), rows.keys.at(-1)]
    if (kind === undefined || key === undefined) return
    inTime(await to.receive(move.accountId, move.id, rows))
    after = { kind, key }
    done += rows.keys.length
    run.report('copying', done)
  }
}

async function compare({ from, to, move }: MoveRun) {
  const [sent, received] = await Promise.all([from.digest(move.accountId), to.digest(move.accountId)])
  const isEqual = sent.count === received.count && sent.digest === received.digest
  return { transfers: sent.transfers, isEqual }
}
