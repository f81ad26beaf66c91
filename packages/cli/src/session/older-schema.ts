import { OutlayError } from '@outlay/core'
import { explain, isLacking, isLockTimeout } from './problem.ts'
import { checkSchema } from './schema-check.ts'
import type { Session } from './session.ts'

/**
 * Runs a command that only holds payments back, also where the schema is behind this release or its queue is another one: whoever
 * stops payments in an emergency must not have to migrate first. If the schema lacks what the command uses, it is refused like the others. What
 * it prints says that the command which ends it needs the migration.
 *
 * @throws OutlayError as the check of the schema does
 */
export async function onOlderSchema<T>(session: Session, work: (session: Session) => Promise<T>): Promise<T> {
  const refusal: unknown = await checkSchema(session).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (refusal === undefined) return work(session)
  // Nobody who stops payments waits for the table of migrations to be read.
  if (isLockTimeout(refusal))
    return work(withWarning(session, 'Whether the schema is that of this release could not be read.'))
  const isBehind = OutlayError.is(refusal, 'not_migrated') || OutlayError.is(refusal, 'queue_version_untested')
  if (!isBehind) throw refusal
  const first = OutlayError.is(refusal, 'not_migrated') ? 'Run "outlay migrate" before that.' : explain(refusal).next
  const warning = `The schema is not that of this release, so the command that ends it is refused. ${first}`
  try {
    return await work(withWarning(session, warning))
  } catch (error) {
    throw isLacking(error) ? refusal : error
  }
}

/** The session, with a line behind each result. */
const withWarning = (session: Session, warning: string): Session => ({
  ...session,
  write: (data, text) => session.write(data, () => `${text()}\n${warning}`),
})
