import type { ResubmitOptions } from '@outlay/core'
import type { Asked } from '@outlay/judge'
import type { PoolClient } from 'pg'
import { creator, type Tenant } from '../environment/tenant.ts'
import { askedLegOf, askedOf } from '../judging/asked.ts'
import type { PlannedPayout } from '../plan/draw.ts'
import { noteEarlier } from './known-payees.ts'
import type { Run } from './run-state.ts'

/** A tenant of a run by its number in the plan. */
export const tenantOf = (at: Run, index: number): Tenant => {
  const tenant = at.tenants[index % at.tenants.length]
  if (tenant === undefined) throw new Error('A run has a tenant at least.')
  return tenant
}

/** Notes a transfer that is enqueued, if it has to be approved or screened. */
function noteControl(
  { approvedFrom, toApprove, screens, toScreen }: Run,
  transferId: string,
  asked: object | null,
): void {
  const { amount } = (asked ?? {}) as Partial<Asked>
  if (approvedFrom !== undefined && amount !== undefined && Number(amount.value) >= approvedFrom)
    toApprove.add(transferId)
  if (screens === true) toScreen.add(transferId)
}

/** Writes a payout down beside its transfer, as hosts do, with what was asked for. */
export const keepPayout = async (
  at: Run,
  tx: PoolClient,
  number: number,
  transferId: string,
  accountId: string,
  asked: object | null,
  batchId: string | null = null,
) => {
  at.numbers.set(transferId, number)
  noteControl(at, transferId, asked)
  await noteEarlier(at, transferId, accountId, asked)
  const status = at.toRefuse.get(number)
  if (status !== undefined) at.misconduct.refuse(transferId, status)
  return tx.query(
    `insert into payout (number, transfer_id, account_id, asked, batch_id) select $1, $2, $3, $4, $5
     where not exists (select from payout where transfer_id = $2)`,
    [number, transferId, accountId, asked, batchId],
  )
}

/** The payout of a plan as the host committed it; undefined when it was rolled back or comes later. */
export async function findPayout(at: Run, number: number) {
  interface Found {
    readonly transfer_id: string
    readonly account_id: string
    readonly asked: object | null
  }
  const { rows } = await at.environment.host.query<Found>(
    'select transfer_id, account_id, asked from payout where number = $1',
    [number],
  )
  return rows[0]
}

/**
 * Enqueues an ended transfer again, as hosts do; returns the id of the new one. It has the times of the ended one, so that a payout of
 * later does not leave now.
 */
export async function resubmitPayout(
  at: Run,
  tx: PoolClient,
  ended: {
    readonly number: number
    readonly transfer_id: string
    readonly account_id: string
    readonly asked: object | null
  },
  correction: ResubmitOptions = {},
): Promise<string> {
  const { transfers } = at.office.engine
  const { id, reused, notBefore, batchId } = await transfers.resubmit(tx, ended.transfer_id, {
    createdBy: creator,
    ...correction,
  })
  const before = (await transfers.get(ended.transfer_id))?.notBefore
  if (timeOf(before) !== timeOf(notBefore)) {
    const detail = `${ended.transfer_id} was to be sent at ${before}, and ${id}, which repeats it, at ${notBefore}`
    at.mistakes.push({ invariant: 'never_before_its_time', detail })
  }
  const { amount, destination } = correction
  const asked = {
    ...ended.asked,
    ...(amount === undefined ? {} : { amount }),
    ...(destination === undefined ? {} : { destination: askedLegOf(destination) }),
    repeats: ended.transfer_id,
  }
  if (!reused) await keepPayout(at, tx, 1_000 + ended.number, id, ended.account_id, asked, batchId)
  return id
}

const timeOf = (time: string | null | undefined): number => Date.parse(time ?? '1970-01-01T00:00:00Z')

/** What ends a transaction that is to be rolled back. */
export class RolledBack extends Error {}

/** Enqueues payouts in one transaction of their host, which commits them or does not; says which. */
export async function enqueue(
  at: Run,
  index: number,
  payouts: readonly PlannedPayout[],
  rollBack: boolean,
): Promise<string> {
  const tenant = tenantOf(at, index)
  const requests = payouts.map((payout) => tenant.request(payout))
  try {
    await at.office.transaction(tenant.accountId, async (tx) => {
      const { enqueue, enqueueMany } = at.office.engine.transfers
      const [only] = requests
      const transfers =
        requests.length === 1 && only !== undefined ? [await enqueue(tx, only)] : await enqueueMany(tx, requests)
      for (const [place, { id }] of transfers.entries()) {
        const request = requests[place]
        const asked = request === undefined ? null : askedOf(request)
        await keepPayout(at, tx, payouts[place]?.number ?? -1, id, tenant.accountId, asked)
      }
      if (rollBack) throw new RolledBack()
    })
    return 'committed'
  } catch (error) {
    if (error instanceof RolledBack) return 'rolled back'
    throw error
  }
}
