import type { Policy } from '@outlay/core'
import type { PoolClient } from 'pg'
import type { Tenant } from '../environment/tenant.ts'
import { firstPolicy, likePolicy, payeesOf } from '../invariants/earlier-payments.ts'
import { askedOf } from '../judging/asked.ts'
import type { PlannedPayout } from '../plan/draw.ts'
import type { EarlierPaymentStep, PaymentRule } from '../plan/earlier-payments.ts'
import { keepPayout, RolledBack, tenantOf } from './host-payouts.ts'
import { completedTo } from './known-payees.ts'
import type { Run } from './run-state.ts'

/** The policies about earlier payments. */
export const policiesAbout = (rules: readonly PaymentRule[]): readonly Policy[] => [
  ...(rules.includes('new')
    ? [{ name: firstPolicy, when: { newCounterparty: 'account' }, approvals: [{ count: 1 }] } as const]
    : []),
  ...(rules.includes('alike')
    ? [{ name: likePolicy, when: { lookalike: { days: 31 } }, hold: 'is this paid twice?' } as const]
    : []),
]

/** Pays equal payouts in transactions that are open at once. */
export async function payAlike(
  at: Run,
  { tenant: index, payouts, isReversed, rolledBack }: Extract<EarlierPaymentStep, { readonly do: 'pay_alike' }>,
): Promise<string> {
  const tenant = tenantOf(at, index)
  const open: { readonly end: () => void; readonly done: Promise<string> }[] = []
  const begin = async (payout: PlannedPayout, place: number) => {
    const [entered, ends] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const work = at.office.transaction(tenant.accountId, async (tx) => {
      await payOne(at, tx, tenant, payout)
      entered.resolve()
      await ends.promise
      if (place === rolledBack) throw new RolledBack()
    })
    const done = work.then(
      () => 'committed',
      (error: Error) => (error instanceof RolledBack ? 'rolled back' : `failed: ${error.message}`),
    )
    open.push({ end: ends.resolve, done })
    await Promise.race([entered.promise, done])
  }
  for (const [place, payout] of payouts.entries()) await begin(payout, place)
  const said: string[] = []
  for (const { end, done } of isReversed ? open.toReversed() : open) {
    end()
    said.push(await done)
  }
  return said.join(', ')
}

/** Who is known before and after it was judged is no new payee. */
async function payOne(at: Run, tx: PoolClient, tenant: Tenant, payout: PlannedPayout): Promise<void> {
  const request = tenant.request(payout)
  const asked = askedOf(request)
  const payees = payeesOf(asked)
  const before = await completedTo(at, tenant.accountId, payees)
  const { id } = await at.office.engine.transfers.enqueue(tx, request)
  await keepPayout(at, tx, payout.number, id, tenant.accountId, asked)
  const known = (await completedTo(at, tenant.accountId, payees)).filter((one) => before.includes(one))
  if (known.length === 0) return
  const { rowCount } = await tx.query('select from outlay.hold where transfer_id = $1 and policy = $2', [
    id,
    firstPolicy,
  ])
  if (rowCount === 0) return
  const detail = `${id} is held for a first payment, and ${known.join(' and ')} to the same payee is complete`
  at.mistakes.push({ invariant: 'earlier_payments', detail })
}
