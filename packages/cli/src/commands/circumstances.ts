import type { Session } from '../session/session.ts'
import { type Hold, readHolds } from './holds.ts'
import { doubtAccount } from './known-account.ts'
import { type Place, readPlace } from './place.ts'

/** What stands around a change of an account, or of everything. */
interface Circumstances {
  /** Whether the account has transfers here; undefined when that could not be read. */
  readonly known: boolean | undefined
  /** A sentence for an account that has none; else empty. */
  readonly doubt: string
  /** What keeps its transfers from being sent; undefined when that could not be read. */
  readonly holds: readonly Hold[] | undefined
  /** Where that is; undefined when that could not be read. */
  readonly place: Place | undefined
}

/**
 * Reads what stands around a change that is committed, at once: behind a lock, each read takes as long as a command waits for one. It
 * never fails, since the command must not seem to have failed.
 */
export async function readCircumstances(session: Session, accountId?: string): Promise<Circumstances> {
  const [{ known, doubt }, holds, place] = await Promise.all([
    accountId === undefined ? { known: true, doubt: '' } : doubtAccount(session, accountId),
    readHolds(session, accountId),
    readPlace(session, accountId),
  ])
  return { known, doubt, holds, place }
}

/** What `read` gives; undefined when it fails. For what is shown of a change that is committed. */
export const unlessUnreadable = <T>(read: Promise<T>): Promise<T | undefined> => read.catch(() => undefined)
