import { printable } from '../output/table.ts'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'

/**
 * A sentence for who names an account that has no transfer here, empty for any other. Such an account is held back all the same, since
 * its first transfer may be about to come; but whoever stops payments in an emergency has to notice that another one goes on.
 */
export async function doubtAccount(
  { inspection }: Session,
  accountId: string,
): Promise<{ known: boolean | undefined; doubt: string }> {
  const [any] = (await inspection.transfers({ accountId, limit: 1 }).catch(() => undefined)) ?? [null]
  // The command has committed by then, and must not seem to have failed.
  if (any === null) return { known: undefined, doubt: `\nWhether ${accountId} has transfers here could not be read.` }
  if (any !== undefined) return { known: true, doubt: '' }
  const doubt = `\nBut no transfer of ${accountId} is known here: see whether it is mistyped ("outlay accounts list" names those that have some).`
  return { known: false, doubt }
}

/** Accounts that are compared with a mistyped one. */
const mostCompared = 1_000

/**
 * Refuses a command for an account that has no transfer here, where it could only find nothing: "nothing" would be taken for an answer about
 * the account that was meant.
 */
export async function requireAccount(session: Session, accountId: string): Promise<void> {
  const { known } = await doubtAccount(session, accountId)
  if (known !== false) return
  const accounts = await session.inspection.accounts({ limit: mostCompared }).catch(() => [])
  const ids = accounts.map((one) => one.accountId)
  if (ids.includes(accountId)) {
    const where = 'It has a pause, a stop or limits alone: "outlay accounts list" shows them.'
    throw new Misuse(`The account "${printable(accountId)}" has no transfer here.`, where)
  }
  const alike = ids.filter((id) => isAlike(id, accountId))
  const next =
    alike.length === 0
      ? 'Write the id with which the host enqueues its transfers; "outlay accounts list" names those with unsettled ones.'
      : `Did you mean ${alike.slice(0, 3).join(' or ')}? "outlay accounts list" names those with unsettled transfers.`
  throw new Misuse(`There is no transfer of an account "${printable(accountId)}" here.`, printable(next))
}

/** True for ids that differ in case alone, or by one or two letters that were added, left out or exchanged. */
function isAlike(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()]
  if (Math.abs(a.length - b.length) > 2) return false
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost))
    }
    row = next
  }
  return (row[b.length] ?? 0) <= Math.min(2, Math.floor(other.length / 3))
}
