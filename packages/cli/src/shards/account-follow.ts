import type { AccountMoved, AccountPlacement, PlacementPage } from '@outlay/adapters-pg'
import { OutlayError } from '@outlay/core'
import { plural, printable } from '../output/table.ts'
import type { CliContext } from '../session/cli-context.ts'
import { explain, type Problem } from '../session/problem.ts'
import type { GlobalOptions } from '../session/session.ts'
import { type FollowCommandOptions, formatMoved, moveOptions, withShards } from './account-move.ts'

/** Which accounts follow their rows. */
export interface FollowAllOptions extends FollowCommandOptions {
  readonly dryRun?: true | undefined
  /** One alone. */
  readonly only?: string | undefined
}

/** What became of an account whose rows are elsewhere. */
interface Followed extends AccountPlacement {
  /** Absent where it did not move. */
  readonly moved?: AccountMoved | undefined
  /** Why it did not move, where it was to. `isMoving` is true where it may be on no node. */
  readonly problem?: Problem | undefined
}

/**
 * Moves each account of the directory to the node where Citus has its rows, or lists those that are elsewhere, and those that cannot move. One that cannot does not keep
 * others from it, but for what would keep all of them: transactions that last. Gives the exit code: 1 where an account is left, or a node did not answer.
 */
export async function followAll(
  options: GlobalOptions,
  around: CliContext,
  { dryRun, only, ...rest }: FollowAllOptions,
): Promise<number> {
  const followed: Followed[] = []
  const missing = new Set<string>()
  let compared = 0
  let isStopped = false
  const isJson = options.json === true
  await withShards(options, around, async ({ accounts }) => {
    const follow = async (placement: AccountPlacement): Promise<Followed> => {
      if (dryRun === true || !isMovable(placement)) return placement
      try {
        return { ...placement, moved: await accounts.follow(placement.accountId, moveOptions(rest, around)) }
      } catch (error) {
        isStopped = OutlayError.is(error, 'conflict') && error.field === 'waitMs'
        // What is known of an account that does not answer any more is that its move has begun.
        const begun = { ...placement, kind: 'moving', isMoving: true } as const
        const now = await accounts.placements({ accountIds: [placement.accountId] }).catch(() => undefined)
        return { ...begun, ...now?.placements[0], problem: explain(error) }
      }
    }
    for (let after: string | null = ''; after !== null && !isStopped && !around.signal.aborted; ) {
      const query = only === undefined ? { after } : { accountIds: [only] }
      const page: PlacementPage = await accounts.placements(query)
      for (const { node } of page.missing) missing.add(node)
      compared += page.placements.length
      for (const placement of page.placements) {
        if (placement.kind === 'beside' || isStopped || around.signal.aborted) continue
        const one = await follow(placement)
        followed.push(one)
        if (!isJson) around.stdout(`${formatFollowed(one)}\n`)
      }
      after = page.next
    }
  })
  if (only !== undefined && compared === 0)
    throw new OutlayError('not_found', `The directory has no node for the account ${only}.`, { field: 'accountId' })
  const isLeft = (one: Followed) => one.moved === undefined && !(dryRun === true && isMovable(one))
  const left = followed.filter(isLeft).length
  const dead = [...missing]
  if (isJson) around.stdout(`${JSON.stringify({ compared, followed, missing: dead, stopped: isStopped }, null, 2)}\n`)
  else
    around.stdout(
      `${summarize(compared, followed.length - left, left, dead, dryRun === true)}${isStopped ? stopped : ''}\n`,
    )
  if (around.signal.aborted) throw new OutlayError('aborted', 'The other accounts were not compared; run it again.')
  return left > 0 || dead.length > 0 ? 1 : 0
}

const isMovable = ({ kind }: AccountPlacement): boolean => kind === 'elsewhere' || kind === 'moving'

function formatFollowed({ accountId, node, kind, isMoving, rowsAt, moved, problem, advice }: Followed): string {
  if (moved !== undefined) return formatMoved(moved)
  const account = printable(accountId)
  if (problem !== undefined && isMoving)
    return `${account} may be on no node, since its move may not have ended: ${problem.message} Run this again, which goes on with it.`
  if (problem !== undefined) return `${account} stays on "${node}": ${problem.message}`
  const where = isMoving
    ? `${account} of "${node}" may be on no node, since a move of it has not ended`
    : `${account} is on "${node}"`
  if (rowsAt !== null && rowsAt !== node) return `${where}, and its rows are on "${rowsAt}".`
  // Of a move, the advice says no more than that it has not ended.
  return kind === 'moving' ? `${where}.` : `${where}. ${printable(advice ?? '')}`
}

/** Others would wait for the same transactions, and each of them would be copied for nothing. */
const stopped = ' The others were not tried: they would wait for the same transactions.'

function summarize(compared: number, followed: number, left: number, dead: readonly string[], isDry: boolean): string {
  const did = isDry ? `${plural(followed, 'account')} would move` : `${plural(followed, 'account')} moved`
  const cannot = left === 0 ? '' : `, and ${left} cannot`
  const lacking = dead.length === 0 ? '' : ` These nodes did not answer: ${dead.join(', ')}.`
  return `${plural(compared, 'account')} compared; ${did}${cannot}.${lacking}`
}
