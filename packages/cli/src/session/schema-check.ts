import { OutlayError } from '@outlay/core'
import { isForbidden, Refusal } from './problem.ts'
import type { Session } from './session.ts'

/** What a command says where no engine is: the names may be mistyped, so it does not begin with a migration. */
export const noEngine = ({ schema, database, server }: Pick<Session, 'schema' | 'database' | 'server'>) => ({
  message: `There is no engine in the schema "${schema}" of the database "${database}" on ${server}.`,
  next: 'Check --schema and --database-url; if they are right, "outlay migrate" makes one there.',
})

/**
 * Checks that the schema is the one of this release.
 * @throws OutlayError as the backend does; Refusal where there is no engine at all
 */
export async function checkSchema(session: Session): Promise<void> {
  try {
    await session.backend.check()
  } catch (error) {
    // The backend says which role may run workers; what this one may not read is nearer to a command.
    if (error instanceof Error && isForbidden(error.cause)) throw error.cause
    if (!OutlayError.is(error, 'not_migrated') || (await session.inspection.schema()).exists) throw error
    const { message, next } = noEngine(session)
    throw new Refusal(message, next, 'not_migrated')
  }
}
