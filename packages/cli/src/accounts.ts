import type { AccountBacklog } from '@outlay/adapters-pg'
import type { AccountLimitsChange, AccountState } from '@outlay/core'
import type { Session } from './session.ts'
import { formatTable, plural } from './table.ts'

/** Lists accounts with something unsettled, paused ones and ones with limits. */
export async function listAccounts(
  session: Session,
  filter: { readonly paused?: boolean | undefined; readonly limit?: number | undefined },
): Promise<void> {
  const accounts = await session.inspection.accounts(filter)
  session.write(accounts, () =>
    accounts.length === 0 ? 'No account has anything unsettled.' : formatAccounts(accounts),
  )
}

function formatAccounts(accounts: readonly AccountBacklog[]): string {
  return formatTable(accounts, [
    ['account', (row) => row.accountId],
    ['paused', (row) => (row.paused ? 'paused' : null)],
    ['queued', (row) => row.queued],
    ['submitting', (row) => row.submitting],
    ['awaiting funds', (row) => row.awaitingFunds],
    ['blocked', (row) => row.blocked],
    ['submitted', (row) => row.submitted],
    ['oldest unsubmitted', (row) => row.oldestUnsubmittedAt],
    ['limits', (row) => formatLimits(row)],
  ])
}

/** The limits of an account in a phrase; null when it has none. */
function formatLimits(account: Omit<AccountState, 'accountId' | 'paused'>): string | null {
  const { ratePerSecond, concurrency, weight, loweredRatePerSecond, heldUntil } = account
  const parts = [
    ratePerSecond === null ? [] : [`${round(ratePerSecond)}/s`],
    concurrency === null ? [] : [`${concurrency} at once`],
    weight === 1 ? [] : [`weight ${round(weight)}`],
    loweredRatePerSecond === null ? [] : [`slowed to ${round(loweredRatePerSecond)}/s by the service`],
    heldUntil === null ? [] : [`held until ${heldUntil}`],
  ].flat()
  return parts.length === 0 ? null : parts.join(', ')
}

const round = (value: number): string => String(Number(value.toPrecision(3)))

/** Changes the limits of an account, when there is something to change, and says what they are. */
export async function limitAccount(session: Session, accountId: string, change: AccountLimitsChange): Promise<void> {
  const changed = Object.values(change).some((value) => value !== undefined)
  if (changed) await session.transaction((tx) => session.engine.accounts.configure(tx, accountId, change))
  const state = await session.engine.accounts.get(accountId)
  session.write({ ...state, changed }, () => {
    const limits = formatLimits(state) ?? 'no limits'
    return changed ? `${accountId} has from now on: ${limits}.` : `${accountId} has: ${limits}.`
  })
}

/** Keeps an account's transfers from being submitted. */
export async function pauseAccount(session: Session, accountId: string): Promise<void> {
  const changed = await session.transaction((tx) => session.engine.accounts.pause(tx, accountId))
  session.write({ accountId, paused: true, changed }, () =>
    changed
      ? `${accountId} is paused. What is on its way is finished; the rest waits for "outlay accounts resume ${accountId}".`
      : `${accountId} was paused already; nothing changed.`,
  )
}

/** Lets a paused account go on. */
export async function resumeAccount(session: Session, accountId: string): Promise<void> {
  const changed = await session.transaction((tx) => session.engine.accounts.resume(tx, accountId))
  session.write({ accountId, paused: false, changed }, () =>
    changed ? `${accountId} goes on; its transfers are due now.` : `${accountId} is not paused; nothing changed.`,
  )
}

/** Lets transfers that wait for credentials try again at once. */
export async function mendAccount(session: Session, accountId: string): Promise<void> {
  const changed = await session.transaction((tx) => session.engine.accounts.credentialsMended(tx, accountId))
  session.write({ accountId, changed }, () =>
    changed
      ? `The credentials of ${accountId} are tried again now; its transfers follow when they work.`
      : `The credentials of ${accountId} are not refused; nothing changed.`,
  )
}

/** Sends an account's transfers that await funds out again. */
export async function fundAccount(session: Session, accountId: string): Promise<void> {
  const count = await session.transaction((tx) => session.engine.accounts.fundsArrived(tx, accountId))
  session.write({ accountId, released: count }, () =>
    count === 0
      ? `${accountId} has no transfer that awaits funds. One that is refused for lack of funds just now goes out again.`
      : `${plural(count, 'transfer')} of ${accountId} sent out again, with their own keys.`,
  )
}
