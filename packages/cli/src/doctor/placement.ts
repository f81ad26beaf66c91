import { explainMisplacement, explainPinFault, findMisplaced, findPinFault } from '@outlay/adapters-pg'
import type { Session } from '../session/session.ts'
import { type Finding, serious } from './finding.ts'

const cures = {
  missing: 'Correct "colocated" in the file of shards.',
  elsewhere: 'Stop the account, move its shard or the account, and run the doctor again.',
  everywhere: 'Take it out of the transactions that enqueue, or distribute it by account.',
} as const

const pinCures = {
  no_citus: 'Correct "citus" in the file of shards.',
  missing: 'Correct "pin" in the file of shards, or make the table.',
  unknown: 'Stop what enqueues, distribute the table, and run the doctor again.',
  elsewhere:
    'Stop what enqueues, move a shard of the table here with citus_move_shard_placement(), and run the doctor again.',
} as const

/** Finds tables of the host, as the file of shards names them, whose rows do not commit with payouts, and a pin that is none. */
export async function diagnosePlacement({ driver, schema, colocated, pin }: Session): Promise<readonly Finding[]> {
  const found = await findMisplaced(driver, schema, colocated)
  const fault = pin === undefined ? undefined : await findPinFault(driver, pin)
  // With a pin the commit is of two phases, so that rows may be elsewhere.
  const isPinned = pin !== undefined && fault === undefined
  return [
    ...found
      .filter(({ kind }) => !isPinned || kind === 'missing')
      .map((one) => serious(`table_${one.kind}`, explainMisplacement(one), cures[one.kind])),
    ...(fault === undefined ? [] : [serious(`pin_${fault.kind}`, explainPinFault(fault), pinCures[fault.kind])]),
  ]
}
