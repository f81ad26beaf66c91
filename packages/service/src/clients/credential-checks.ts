import { OutlayError } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { batch } from '../database/batch.ts'
import { asSystem } from '../database/tenant.ts'
import type { CredentialChecks } from '../http/credentials.ts'
import { createTokenBuckets, type TokenBuckets } from '../http/token-buckets.ts'
import { digestOf } from '../secrets.ts'
import { findCaller, findCallers, findClientBySecret, findClientsBySecret } from './clients.ts'

const limits = {
  address: { burst: 50, perSecond: 1 },
  client: { burst: 20, perSecond: 0.2 },
  /** Of all addresses together, since a stranger may have more of them than there are buckets. */
  all: { burst: 200, perSecond: 20 },
}

/** Credentials of throttled callers are looked up together: 1,000 in one statement, ten times a second. */
const throttledBatch = { maxSize: 1_000, waitMs: 100 }

/**
 * Makes {@link CredentialChecks} of one process. Only wrong credentials count, and a right one passes even if its address or its client
 * id has used up the budget, because strangers behind the same address, or strangers who know the id, can use it up. What a throttled
 * caller costs is bounded otherwise: it waits for a statement that looks up what all of them have sent. So does everybody while all addresses together
 * have used up theirs. Nothing is written, and processes share nothing.
 */
export function createCredentialChecks(context: ServiceContext): CredentialChecks {
  const addresses = createTokenBuckets(limits.address)
  const clients = createTokenBuckets(limits.client)
  const all = createTokenBuckets(limits.all)
  const findClientLater = batch(
    (pairs: readonly { readonly clientId: string; readonly digest: Buffer }[]) =>
      findClientsBySecret(asSystem(context), context, pairs),
    throttledBatch,
  )
  const findCallerLater = batch(
    (digests: readonly Buffer[]) => findCallers(asSystem(context), context, digests),
    throttledBatch,
  )
  // All clients whose address is not known have one budget.
  const addressBudget = (address: string | undefined): Budget => ({ buckets: addresses, key: address ?? '' })
  return {
    findClient(address, clientId, clientSecret) {
      const client = { buckets: clients, key: clientId }
      return checked(all, [addressBudget(address), client], {
        now: () => findClientBySecret(asSystem(context), context, clientId, clientSecret),
        later: () => findClientLater({ clientId, digest: digestOf(clientSecret) }),
      })
    },
    findCaller: (address, tokenDigest) =>
      checked(all, [addressBudget(address)], {
        now: () => findCaller(asSystem(context), context, tokenDigest),
        later: () => findCallerLater(tokenDigest),
      }),
  }
}

interface Budget {
  readonly buckets: TokenBuckets
  readonly key: string
}

/** Takes from the budgets before it looks up, so that simultaneous requests count, and gives back what was right. Only its own budgets refuse a caller. */
async function checked<T>(
  all: TokenBuckets,
  budgets: readonly Budget[],
  find: { now(): Promise<T | undefined>; later(): Promise<T | undefined> },
): Promise<T | undefined> {
  const waits = budgets.map(({ buckets, key }) => buckets.take(key))
  const giveBack = () => {
    for (const [at, { buckets, key }] of budgets.entries()) if (waits[at] === 0) buckets.give(key)
  }
  const retryAfterMs = Math.max(...waits)
  if (retryAfterMs > 0) giveBack()
  const isLate = retryAfterMs > 0 || all.take('') > 0
  const found = await (isLate ? find.later() : find.now())
  if (found === undefined && retryAfterMs > 0) {
    const message = 'Too many wrong credentials; check them, and send the request again after a pause.'
    throw new OutlayError('rate_limited', message, { retryAfterMs })
  }
  if (found !== undefined && retryAfterMs === 0) giveBack()
  if (found !== undefined && !isLate) all.give('')
  return found
}
