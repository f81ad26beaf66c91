import { setTimeout } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import type { PoolClient } from 'pg'
import { nodeNames } from '../environment/environment.ts'
import { retried } from '../environment/time-travel.ts'
import { askedOf } from '../judging/asked.ts'
import type { MovingStep } from '../plan/moves.ts'
import { startWorker, type Worker } from '../workers/worker.ts'
import { noteVictim } from './holds.ts'
import { enqueue, keepPayout, tenantOf } from './host-payouts.ts'
import type { Run } from './run-state.ts'

type Move = Extract<MovingStep, { readonly do: 'move' }>
type Across = Extract<MovingStep, { readonly do: 'enqueue_across' }>

/** How long a move waits for transactions from before, in milliseconds. */
const waitMs = 1_500

/** How long the end of a move is tried for, in milliseconds. */
const longestMs = 60_000

/** Executes one step of hosts with several databases; returns its result. */
export async function moveStep(at: Run, step: MovingStep): Promise<string> {
  if (at.environment.system === undefined) return 'there is one database'
  switch (step.do) {
    case 'move':
      return begin(at, step)
    case 'enqueue_across':
      return enqueueAcross(at, step)
    case 'end_moves':
      return endMoves(at)
  }
}

async function begin(at: Run, step: Move): Promise<string> {
  const { accountId } = tenantOf(at, step.tenant)
  const to = nodeNames[step.to % nodeNames.length] ?? nodeNames[0]
  at.starts += 1
  const mover = await startWorker(at, { works: false, name: `mover ${at.starts}` })
  if (step.dies !== null) mover.faultSchedule.plan(step.dies, 'kill')
  const moving = goOn(at, mover, accountId, to, step.attemptsMs).finally(async () => {
    at.moves.delete(moving)
    at.faults += mover.faultSchedule.befell.length
    await mover.stop()
  })
  at.moves.add(moving)
  return step.isAwaited ? moving : 'begun'
}

/** Moves an account, and notes what became of it. */
async function goOn(...given: Parameters<typeof move>): Promise<string> {
  const [{ movesEnded }] = given
  const said = await move(...given)
  const [what = ''] = said.split(/[ :]/)
  movesEnded.set(what, (movesEnded.get(what) ?? 0) + 1)
  return said
}

async function move(
  at: Run,
  { system, faultSchedule }: Worker,
  accountId: string,
  to: string,
  attemptsMs: number,
): Promise<string> {
  try {
    const moved = await system?.accounts.move(accountId, { to, waitMs, attemptsMs })
    return `${moved?.result} to ${moved?.to}`
  } catch (error) {
    if (faultSchedule.isDead) return `died: ${faultSchedule.befell}`
    if (OutlayError.is(error)) return `${error.code}: ${error.message}`
    at.mistakes.push({ invariant: 'moved_whole', detail: `the move of ${accountId} failed: ${error}` })
    return String(error)
  }
}

/** Enqueues in a transaction that was begun before a move, and once more where the account is afterwards. */
async function enqueueAcross(at: Run, step: Across): Promise<string> {
  const tenant = tenantOf(at, step.tenant)
  const { accountId } = tenant
  const from = (await at.office.system?.nodeOf(accountId))?.name
  const place = at.environment.nodes.findIndex(({ name }) => name === from)
  const client = await at.environment.nodes[Math.max(0, place)]?.holders.connect()
  if (client === undefined) return 'there is no such node'
  const onError = () => undefined
  client.on('error', onError)
  let said = ''
  try {
    await client.query(`begin isolation level ${step.isSnapshot ? 'repeatable read' : 'read committed'}`)
    await client.query('select count(*) from own_row')
    const away = { do: 'move', tenant: step.tenant, to: 1 - place, attemptsMs: 1, dies: null } as const
    await begin(at, { ...away, isAwaited: false })
    await (step.forMs === null ? Promise.all(at.moves) : setTimeout(step.forMs))
    said = await enqueueIn(at, client, step)
  } finally {
    client.off('error', onError)
    client.release(said === '')
  }
  return `${said}, then ${await enqueue(at, step.tenant, step.payouts, false)}`
}

async function enqueueIn(at: Run, client: PoolClient, { tenant: index, payouts }: Across): Promise<string> {
  const tenant = tenantOf(at, index)
  try {
    for (const payout of payouts) {
      const request = tenant.request(payout)
      const { id } = await at.office.engine.transfers.enqueue(client, request)
      await keepPayout(at, client, payout.number, id, tenant.accountId, askedOf(request))
    }
    await client.query('commit')
    return 'committed'
  } catch (error) {
    noteVictim(at, error)
    await client.query('rollback')
    return `rolled back: ${OutlayError.is(error) ? error.code : error}`
  }
}

interface Open {
  readonly account_id: string
  readonly to_node: string
}

/** Waits for every mover, and goes on with what those have left half done that have died. */
export async function endMoves(at: Run): Promise<string> {
  if (at.environment.system === undefined) return ''
  await Promise.all(at.moves)
  const until = performance.now() + longestMs
  let ended = 0
  for (let last = ''; ; ended += 1) {
    const open = await findOpen(at)
    if (open === undefined) return `${ended} ended`
    const { account_id: accountId, to_node: node } = open
    if (performance.now() > until) {
      const detail = `the move of ${accountId} to ${node} does not end: ${last}`
      at.mistakes.push({ invariant: 'moved_whole', detail })
      return last
    }
    last = await goOn(at, at.office, accountId, node, 1)
  }
}

interface Open {
  readonly account_id: string
  readonly to_node: string
}

/** A move that has not ended. */
async function findOpen({ environment: { system } }: Run): Promise<Open | undefined> {
  const text = 'select account_id, to_node from outlay_directory.account_move where ended_at is null limit 1'
  // Postgres may just be restarting.
  return retried(async () => (await system?.directory.query<Open>(text))?.rows[0])
}
