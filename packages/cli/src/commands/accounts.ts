import type { AccountBacklog } from '@outlay/adapters-pg'
import type { AccountLimitsChange, AccountState, OperatorNote } from '@outlay/core'
import { showGateway } from '../output/gateway-column.ts'
import { type Column, formatTable, plural } from '../output/table.ts'
import type { Session } from '../session/session.ts'
import { readCircumstances, unlessUnreadable } from './circumstances.ts'
import { formatHolds, isHeld, readHolds } from './holds.ts'
import { doubtAccount, requireAccount } from './known-account.ts'
import { formatPlace } from './place.ts'

/** Lists accounts with unsettled transfers, paused ones and ones with limits. */
export async function listAccounts(
  session: Session,
  filter: { readonly paused?: boolean | undefined; readonly limit?: number | undefined },
): Promise<void> {
  const accounts = await session.inspection.accounts(filter)
  session.write(accounts, () =>
    accounts.length === 0 ? 'No account has unsettled transfers.' : formatAccounts(accounts),
  )
}

function formatAccounts(accounts: readonly AccountBacklog[]): string {
  const columns: readonly Column<AccountBacklog>[] = [
    ['account', (row) => row.accountId],
    ['paused', (row) => (row.paused ? 'paused' : null)],
    ['queued', (row) => row.queued],
    ['submitting', (row) => row.submitting],
    ['awaiting funds', (row) => row.awaitingFunds],
    ['blocked', (row) => row.blocked],
    ['submitted', (row) => row.submitted],
    ['held', (row) => row.held],
    ['oldest unsubmitted', (row) => row.oldestUnsubmittedAt],
    ['limits', (row) => formatLimits(row)],
  ]
  return formatTable(accounts, showGateway(columns, accounts))
}

/** The limits of an account as a phrase; null when it has none. */
function formatLimits(account: Omit<AccountState, 'accountId' | 'paused' | 'pause'>): string | null {
  const { ratePerSecond, concurrency, weight, throttledRatePerSecond, throttledUntil } = account
  const parts = [
    ratePerSecond === null ? [] : [`${round(ratePerSecond)}/s`],
    concurrency === null ? [] : [`${concurrency} at once`],
    weight === 1 ? [] : [`weight ${round(weight)}`],
    throttledRatePerSecond === null ? [] : [`throttled to ${round(throttledRatePerSecond)}/s by the service`],
    throttledUntil === null ? [] : [`paused until ${throttledUntil}`],
  ].flat()
  return parts.length === 0 ? null : parts.join(', ')
}

const round = (value: number): string => String(Number(value.toPrecision(3)))

/** Changes the limits of an account, if any are given, and prints them. */
export async function limitAccount(
  session: Session,
  accountId: string,
  change: AccountLimitsChange,
  note?: OperatorNote,
): Promise<void> {
  const changed = Object.values(change).some((value) => value !== undefined)
  if (changed) {
    await session.transaction((tx) => session.engine.accounts.configure(tx, accountId, change, note))
    session.begin(`The limits of ${accountId} are changed.`)
  }
  const reading = session.engine.accounts.get(accountId)
  const [state, { known, doubt }] = await Promise.all([
    changed ? unlessUnreadable(reading) : reading,
    doubtAccount(session, accountId),
  ])
  session.write({ accountId, ...state, changed, known }, () => {
    if (state === undefined) return ` All that it has could not be read: see "outlay accounts list".${doubt}`
    const limits = formatLimits(state) ?? 'no limits'
    return `${changed ? ` ${accountId} has from now on` : `${accountId} has`}: ${limits}.${doubt}`
  })
}

/** Keeps an account's transfers from being submitted, and prints what else does. */
export async function pauseAccount(session: Session, accountId: string, note?: OperatorNote): Promise<void> {
  const changed = await session.transaction((tx) => session.engine.accounts.pause(tx, accountId, note))
  session.begin(
    changed
      ? `${accountId} is paused. Requests under way are finished; the rest waits for "outlay accounts resume ${accountId}".`
      : `${accountId} is paused already; nothing changed.`,
  )
  const { known, doubt, place, ...others } = await readCircumstances(session, accountId)
  const holds = others.holds?.filter(({ kind }) => kind !== 'pause')
  session.write({ accountId, paused: true, changed, known, holds, place }, () => {
    return formatHolds(holds) + doubt + formatPlace(place, true)
  })
}

/** Resumes a paused account, and prints what else keeps its transfers from being sent. */
export async function resumeAccount(
  session: Session,
  accountId: string,
  note?: OperatorNote & { readonly since?: string | undefined },
): Promise<void> {
  const changed = await session.transaction((tx) => session.engine.accounts.resume(tx, accountId, note))
  session.begin(changed ? `${accountId} is resumed` : `${accountId} is not paused; nothing changed`)
  const { known, doubt, holds, place } = await readCircumstances(session, accountId)
  session.write({ accountId, paused: false, changed, known, holds, place }, () => {
    const due = !changed || isHeld(holds, accountId) ? '.' : '; its transfers are due now.'
    return due + formatHolds(holds) + doubt + formatPlace(place, isHeld(holds, accountId))
  })
}

/** Probes the refused credentials of an account at once. */
export async function retryAccountCredentials(session: Session, accountId: string, note?: OperatorNote): Promise<void> {
  await requireAccount(session, accountId)
  const changed = await session.transaction((tx) => session.engine.accounts.retryCredentials(tx, accountId, note))
  session.begin(
    changed
      ? `The credentials of ${accountId} are probed now; its transfers are sent when the service accepts them.`
      : `The credentials of ${accountId} are not refused; nothing changed.`,
  )
  const { known, doubt, ...others } = await readAround(session, accountId)
  const holds = others.holds?.filter(({ kind }) => kind !== 'credentials')
  session.write({ accountId, changed, known, holds }, () => formatHolds(holds) + doubt)
}

/** Sends an account's transfers that await funds again, or as soon as nothing else holds them. */
export async function fundAccount(session: Session, accountId: string, note?: OperatorNote): Promise<void> {
  await requireAccount(session, accountId)
  const count = await session.transaction((tx) => session.engine.accounts.fundsArrived(tx, accountId, note))
  session.begin(
    count === 0
      ? `${accountId} has no transfer that awaits funds. A transfer that is being refused for lack of funds right now is sent again.`
      : `${plural(count, 'transfer')} of ${accountId} due again, with their own keys.`,
  )
  const { known, doubt, holds } = await readAround(session, accountId)
  session.write({ accountId, released: count, known, holds }, () => formatHolds(holds) + doubt)
}

/** What else holds an account, and whether it is mistyped. */
async function readAround(session: Session, accountId: string) {
  const [doubted, holds] = await Promise.all([doubtAccount(session, accountId), readHolds(session, accountId)])
  return { ...doubted, holds }
}
