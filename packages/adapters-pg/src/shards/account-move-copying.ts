import { moveRefused } from './account-move-check.ts'
import type { RowRange } from './account-move-node.ts'
import { inTime, type MoveRun, slice } from './account-move-run.ts'

/**
 * Copies ended transfers before the account is paused, so that the pause has to copy only what is open or has changed since. The copy is compared in the pause, and
 * what is wrong of it by then is copied again.
 */
export async function copyEnded(run: MoveRun): Promise<void> {
  const { from, to, move } = run
  const { id, accountId } = move
  inTime(await to.expect(accountId, id, move.actor, move.reason))
  let after: string | null = ''
  for (let done = 0; after !== null; ) {
    run.check()
    const page: Awaited<ReturnType<typeof from.peek>> = await from.peek(accountId, after, slice.transfers)
    if (page.rows.keys.length > 0) inTime(await to.receive(accountId, id, page.rows))
    done += page.rows.keys.length
    run.report('preparing', done)
    after = page.last
  }
}

/** Copies what was packed to the node that the account comes to, and compares the two. Gives the number of transfers. */
export async function copyAccount(run: MoveRun): Promise<number> {
  const { from, to, move } = run
  const { id, accountId } = move
  inTime(await to.expect(accountId, id, move.actor, move.reason))
  inTime(await to.arrive(accountId, id))
  await copyRows(run)
  let compared = await compare(run)
  if (compared.differing !== undefined) {
    await copyRows(run)
    compared = await compare(run)
  }
  if (compared.differing !== undefined)
    throw moveRefused(
      accountId,
      `the copy of ${compared.differing} on "${to.name}" differs from what "${from.name}" has; try again.`,
    )
  const taken = await to.takenKey(accountId)
  if (taken !== undefined)
    throw moveRefused(
      accountId,
      `the node "${to.name}" has a transfer of its own with the key, id or remote id of ${taken}.`,
    )
  run.report('verified', compared.transfers)
  return compared.transfers
}

/** Refuses to switch the route while a table has something of the account again, such as a stop that somebody has set in its pause. */
export async function checkNothingLeft({ from, move }: MoveRun): Promise<void> {
  const left = await from.left(move.accountId, 'found')
  if (left !== null)
    throw moveRefused(
      move.accountId,
      `somebody has written to the table ${left} of it meanwhile; move it again, with that.`,
    )
}

/**
 * Copies once more what the other node, which has unpacked nothing yet, has lost since the route was switched, as long as this one still has it.
 * @throws OutlayError `conflict` where neither has it
 */
export async function completeCopy(run: MoveRun, state: string): Promise<void> {
  const { from, to, move } = run
  if (state === 'departed')
    throw moveRefused(
      move.accountId,
      `"${from.name}" has given it to "${to.name}", which does not know of it; restore "${to.name}" to a later time.`,
    )
  // It only goes forward.
  await copyAccount({ ...run, check: () => undefined })
}

/** Compares the rows of both nodes part by part, by their digests, and copies those parts that are others. */
async function copyRows(run: MoveRun): Promise<void> {
  const { from, to, move } = run
  const { id, accountId } = move
  const parts = await from.parts(accountId, slice.rows)
  const ranges = parts.map(({ kind, lastKey }, at): RowRange => {
    const [before, next] = [parts[at - 1], parts[at + 1]]
    // What is behind the last one is of before, and goes.
    return { kind, after: before?.kind === kind ? before.lastKey : '', last: next?.kind === kind ? lastKey : null }
  })
  const kinds = new Set(parts.map(({ kind }) => kind))
  for (const kind of await to.kinds(accountId)) if (!kinds.has(kind)) inTime(await to.forget(accountId, id, kind))
  const known = await to.partsAt(accountId, ranges)
  let done = 0
  for (const [at, range] of ranges.entries()) {
    const [here, there] = [parts[at], known[at]]
    done += here?.count ?? 0
    if (here?.count !== there?.count || here?.digest !== there?.digest) {
      run.check()
      inTime(await to.replace(accountId, id, range, await from.rows(accountId, range)))
    }
    run.report('copying', done)
  }
}

async function compare({ from, to, move }: MoveRun) {
  const [sent, received] = await Promise.all([from.digests(move.accountId), to.digests(move.accountId)])
  const differs = (kind: string) => {
    const [one, other] = [sent, received].map((all) => all.find((digest) => digest.kind === kind))
    return one?.count !== other?.count || one?.digest !== other?.digest
  }
  const kinds = new Set([...sent, ...received].map(({ kind }) => kind))
  return {
    transfers: sent.find(({ kind }) => kind === 'transfer')?.count ?? 0,
    /** The first table whose rows are others here and there. */
    differing: [...kinds].find(differs),
  }
}
