import { OutlayError, type ResubmitOptions } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import type { PlayerStep } from '../plan/players.ts'
import { resubmitPayout, tenantOf } from './host-payouts.ts'
import type { Run } from './run-state.ts'

type Correct = Extract<PlayerStep, { readonly do: 'correct' }>

interface Leg {
  readonly valueType: string
  readonly transferType: string
}

/** A payout that has ended without a payment. */
interface Ended {
  readonly number: number
  readonly transfer_id: string
  readonly account_id: string
  readonly asked: {
    readonly amount: ResubmitOptions['amount'] & object
    readonly source: Leg
    readonly destination: Leg
  } | null
}

/** Payouts that have failed or are canceled, also those that were resubmitted; undefined while there are none. */
async function findEnded({ environment }: Run): Promise<readonly Ended[] | undefined> {
  const { rows } = await environment.host.query<Ended>(
    `select p.number, p.transfer_id, p.account_id, p.asked from payout p join outlay.transfer t on t.id = p.transfer_id
     where t.stage = 'settled' and t.status in ('failed', 'canceled') and p.number < 1000 order by p.number, t.id`,
  )
  return rows.length === 0 ? undefined : rows
}

/** Several people resubmit one ended payout at once. One of them at most may write a transfer. */
export async function correct(at: Run, step: Correct): Promise<string> {
  const rows = (await waitUntil(() => findEnded(at), { timeoutMs: 1_000 }).catch(() => undefined)) ?? []
  const found = rows[step.choice % Math.max(1, rows.length)]
  if (found === undefined) return 'none has ended'
  const resubmit = (caller: number) =>
    at.office.transaction(found.account_id, async (tx) => {
      if (step.isSnapshot) await tx.query('set transaction isolation level repeatable read')
      return resubmitPayout(at, tx, found, correctionOf(at, step, found, caller))
    })
  const calls = Array.from({ length: step.callers }, (_, caller) => resubmit(caller))
  if (step.answersArrive) for (const worker of at.workers.values()) worker.letGo()
  const settled = await Promise.allSettled(calls)
  const ids = new Set(settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
  if (ids.size > 1) {
    const detail = `payout ${found.number} was resubmitted ${ids.size} times at once: ${[...ids].join(' and ')}`
    at.mistakes.push({ invariant: 'corrected_once', detail })
  }
  const refused = settled.flatMap((one) => (one.status === 'rejected' ? [reasonOf(one.reason)] : []))
  return `${ids.size} of payout ${found.number}${refused.length === 0 ? '' : `, refused: ${refused.join(', ')}`}`
}

/** What one of them asks for. Only what leaves the wallet as it is may have another payee. */
function correctionOf(at: Run, { what, hasOwnKeys }: Correct, ended: Ended, caller: number): ResubmitOptions {
  const { asked, account_id, number } = ended
  const key = hasOwnKeys ? { idempotencyKey: `corrected-${at.seed}-${number}-${caller}` } : {}
  if (asked === null || what === 'nothing') return key
  const isToken = [asked.source, asked.destination].every(
    ({ valueType, transferType }) => valueType === 'USDC' && transferType === 'base',
  )
  if (what === 'payee' && isToken) {
    const tenant = at.tenants.find(({ accountId }) => accountId === account_id) ?? tenantOf(at, 0)
    return { ...key, destination: tenant.request({ number, kind: 'token', amount: 1 }).destination }
  }
  const value = `${7 + (what === 'apart' ? caller : 0)}.00`
  return { ...key, amount: { ...asked.amount, value } }
}

const reasonOf = (error: unknown): string =>
  OutlayError.is(error) ? error.code : error instanceof Error && 'code' in error ? String(error.code) : String(error)
