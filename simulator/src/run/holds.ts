import { setTimeout } from 'node:timers'
import type { PoolClient } from 'pg'
import { askedOf } from '../judging/asked.ts'
import type { PlayerStep } from '../plan/players.ts'
import { findPayout, keepPayout, tenantOf } from './host-payouts.ts'
import type { Hold, Run } from './run-state.ts'

type HoldStep = Extract<PlayerStep, { readonly do: 'hold' }>

/** What is done to one transfer. */
const touching: ReadonlySet<HoldStep['holding']> = new Set(['row', 'cancel', 'lock'])

/** Most transactions that stay open at once. */
const mostHolds = 6

/** Opens a transaction that does something for a tenant and stays open. */
export async function hold(at: Run, step: HoldStep): Promise<string> {
  if (at.holds.size >= mostHolds) return 'enough are open'
  const number = step.payouts.at(-1)?.number
  const { accountId: ownId } = tenantOf(at, step.tenant)
  if (number !== undefined && step.holding !== 'enqueue')
    await at.office.transaction(ownId, (tx) => enqueue(at, step, tx))
  const found = touching.has(step.holding) ? await findPayout(at, number ?? step.payout) : undefined
  const accountId = found?.account_id ?? ownId
  const client = await at.environment.nodes[0].holders.connect()
  const onError = () => undefined
  client.on('error', onError)
  const close = async (text: string) => {
    await client.query(text).finally(() => {
      client.off('error', onError)
      client.release()
    })
  }
  try {
    await client.query(`begin; set local lock_timeout = '500ms'`)
    await begin(at, step, client, found?.transfer_id, accountId)
  } catch (error) {
    noteVictim(at, error)
    await close('rollback').catch(onError)
    throw error
  }
  // Two that do a second thing could wait for each other, which would be no fault of the workers.
  const isLong = step.later !== 'nothing' && ![...at.holds].some((one) => one.isLong)
  let ended: Promise<void> | undefined
  const end = async () => {
    clearTimeout(timer)
    try {
      if (isLong) await goOn(at, step, client, accountId)
      await close(step.ends)
    } catch (error) {
      noteVictim(at, error)
      await close('rollback').catch(onError)
    } finally {
      at.holds.delete(opened)
    }
  }
  const opened: Hold = { accountId, isLong, end: () => (ended ??= end()) }
  const timer = step.forMs === null ? undefined : setTimeout(() => void opened.end(), step.forMs)
  at.holds.add(opened)
  return ''
}

async function begin(
  at: Run,
  step: HoldStep,
  tx: PoolClient,
  transferId: string | undefined,
  accountId: string,
): Promise<void> {
  const { engine } = at.office
  const { accounts, transfers } = engine
  switch (step.holding) {
    case 'enqueue':
      await enqueue(at, step, tx)
      return
    case 'row':
      await remark(tx, transferId)
      return
    case 'lock':
      await tx.query('select from outlay.transfer where id = $1 for update', [transferId])
      return
    case 'cancel':
      if (transferId !== undefined) await transfers.cancel(tx, transferId)
      return
    case 'retry_credentials':
      await accounts.retryCredentials(tx, accountId)
      return
    case 'pause':
      await accounts.pause(tx, accountId)
      return
    case 'limit':
      await accounts.configure(tx, accountId, { concurrency: 2 })
  }
}

async function enqueue(at: Run, step: HoldStep, tx: PoolClient): Promise<void> {
  const tenant = tenantOf(at, step.tenant)
  for (const payout of step.payouts) {
    const request = tenant.request(payout)
    const { id } = await at.office.engine.transfers.enqueue(tx, request)
    await keepPayout(at, tx, payout.number, id, tenant.accountId, askedOf(request))
  }
}

/** What it does before it ends. */
async function goOn(at: Run, step: HoldStep, tx: PoolClient, accountId: string): Promise<void> {
  const found = await findPayout(at, step.laterPayout)
  if (found?.account_id !== accountId) return
  if (step.later === 'row') await remark(tx, found.transfer_id)
  else await at.office.engine.transfers.cancel(tx, found.transfer_id)
}

const remark = (tx: PoolClient, transferId: string | undefined) =>
  transferId === undefined ? undefined : tx.query('insert into remark (transfer_id) values ($1)', [transferId])

/** Whether a transaction of a host was aborted for the good of others. */
export function noteVictim(at: Pick<Run, 'mistakes'>, error: unknown): void {
  if (!(error instanceof Error) || !('code' in error) || error.code !== '40P01') return
  at.mistakes.push({ invariant: 'host_is_no_victim', detail: error.message })
}

/** Ends every transaction of hosts that is open. */
export async function endHolds(at: Run): Promise<void> {
  for (const one of [...at.holds]) await one.end()
}
