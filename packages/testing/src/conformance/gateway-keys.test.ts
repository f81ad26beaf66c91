import type { Gateway, Submission, SubmitResult } from '@outlay/core'
import { expect, it, onTestFinished } from 'vitest'
import { openBench } from './gateway-bench.ts'
import { checkClaims, checkClosedKey } from './gateway-keys.ts'

const payout = (value: string) => ({
  amount: { value, currency: 'USD' },
  source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
  destination: { addressId: 'payee', valueType: 'USD', transferType: 'ach_credit' },
})

/** A provider in memory that does not pay 13.00 until that is permitted, and the gateway that a change makes of its answers. */
async function open(
  change: (result: SubmitResult, submission: Submission) => SubmitResult,
  { keeps = true, confuses = false } = {},
) {
  const paid = new Map<string, string>()
  const closed = new Map<string, SubmitResult>()
  let isPermitted = false
  const decide = (submission: Submission): SubmitResult => {
    const { idempotencyKey, request } = submission
    const key = confuses ? JSON.stringify(request) : idempotencyKey
    const known = closed.get(key)
    if (keeps && known !== undefined) return known
    const { value } = request.amount
    if (value === '13.00' && !isPermitted) {
      const refusal = { outcome: 'rejected', code: 'odd', detail: 'no', keyEvaluated: true, keyClosed: true } as const
      closed.set(key, refusal)
      return refusal
    }
    if (value === '99.00') return { outcome: 'insufficient_balance', detail: 'too little', keyEvaluated: true }
    const remoteId = paid.get(idempotencyKey) ?? `p-${paid.size}`
    paid.set(idempotencyKey, remoteId)
    return { outcome: 'accepted', remoteId, keyEvaluated: true }
  }
  const gateway: Gateway = {
    submit: async (submission) => change(decide(submission), submission),
    get: async () => undefined,
  }
  const bench = await openBench(async (through) => {
    // Nobody goes there: this provider has no server.
    await through('http://127.0.0.1:9')
    return {
      ...{ gateway, accountId: 'acme', request: () => payout('1.00'), countPayments: () => paid.size },
      ...{ refused: () => payout('13.00'), unfunded: () => payout('99.00') },
      permit: () => {
        isPermitted = true
      },
    }
  })
  onTestFinished(() => bench.proxy.stop())
  return bench
}

const asItIs = (result: SubmitResult) => result

it('passes a gateway whose provider keeps its refusals, and one that does not say that a key is closed', async () => {
  const kept = await open(asItIs)
  await checkClaims(kept)
  await checkClosedKey(kept)
  const silent = await open(({ keyClosed: _, ...result }) => result, { keeps: false })
  await checkClaims(silent)
  await checkClosedKey(silent)
})

it('fails a gateway that says that a key is closed, and pays under it later', async () => {
  const bench = await open(asItIs, { keeps: false })
  await checkClaims(bench)
  await expect(checkClosedKey(bench)).rejects.toThrow(/under a closed key/)
})

it('fails a gateway that does so only after the key of a fail-over was used', async () => {
  const seen = new Set<string>()
  const bench = await open((result, { idempotencyKey, attempt }) => {
    seen.add(idempotencyKey)
    return seen.size > 1 && attempt === 3 ? { outcome: 'accepted', remoteId: 'late', keyEvaluated: true } : result
  })
  await expect(checkClosedKey(bench)).rejects.toThrow(/under a closed key/)
})

it('fails a gateway whose refusal closes other keys too', async () => {
  const bench = await open(asItIs, { confuses: true })
  await expect(checkClosedKey(bench)).rejects.toThrow(/accepted nothing/)
})

it.each<readonly [string, (result: SubmitResult) => SubmitResult]>([
  [
    'for want of money',
    (result) => (result.outcome === 'insufficient_balance' ? { ...result, keyClosed: true } : result),
  ],
  ['that was accepted', (result) => (result.outcome === 'accepted' ? { ...result, keyClosed: true } : result)],
  ['without a check of the key', ({ keyEvaluated: _, ...result }) => result],
  ['that may be of a proxy', (result) => (result.keyClosed === true ? { ...result, mayHaveActed: true } : result)],
])('fails a gateway that says that a key is closed of an answer %s', async (_, change) => {
  await expect(checkClaims(await open(change))).rejects.toThrow(/keyClosed/)
})
