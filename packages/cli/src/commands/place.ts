import type { PlaceFacts } from '@outlay/adapters-pg'
import { plural, printable } from '../output/table.ts'
import type { Session } from '../session/session.ts'

/** Where a command has acted. */
export interface Place extends PlaceFacts {
  /** Host and port, as the database URL names them. */
  readonly server: string
  readonly schema: string
}

/** Without a sign of a worker for so long, the database may be the wrong one, in milliseconds. */
const silenceMs = 60_000

/**
 * Reads where a command has acted; undefined when that cannot be read. A command that stops payments has committed by then, and
 * must not seem to have failed.
 */
export async function readPlace(session: Session, accountId?: string): Promise<Place | undefined> {
  const { inspection, server, schema } = session
  const facts = await inspection.place(accountId).catch(() => undefined)
  return facts === undefined ? undefined : { server, schema, ...facts }
}

/** Lines that let a person notice the wrong database: its names, what waits in it, and whether workers run. */
export function formatPlace(place: Place | undefined, isHeld: boolean): string {
  if (place === undefined)
    return '\nWhich database this is and what waits in it could not be read: see "outlay status".'
  const { database, server, schema, deployment, environment, waiting } = place
  const names = `${database} on ${server}, schema ${schema}, deployment ${deployment ?? 'not named'}, environment ${environment ?? 'not known'}`
  const what = `${plural(waiting.transfers, 'transfer')} of ${plural(waiting.accounts, 'account')}`
  const held = isHeld ? `It keeps ${what} from being sent.` : `To be sent: ${what}.`
  return `\n${printable(`Database: ${names}.`)}\n${held}\n${describeWorkers(place)}`
}

function describeWorkers({ workers }: Place): string {
  const { supervisedMs, listening, claiming } = workers
  if (listening === 0 && (supervisedMs === null || supervisedMs > silenceMs)) {
    return 'No worker has run here in the last minute: is this the right database?'
  }
  const count = listening === 0 ? 'at least one, which only polls' : `${listening} that listen for work`
  return `Workers alive: ${count}; ${claiming} claimed a transfer in the last five minutes.`
}
