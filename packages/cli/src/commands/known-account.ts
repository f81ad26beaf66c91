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
