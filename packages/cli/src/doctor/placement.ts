import { explainMisplacement, findMisplaced } from '@outlay/adapters-pg'
import type { Session } from '../session/session.ts'
import { type Finding, serious } from './finding.ts'

const cures = {
  missing: 'Correct "colocated" in the file of shards.',
  elsewhere: 'Stop the account, move its shard or the account, and run the doctor again.',
  everywhere: 'Take it out of the transactions that enqueue, or distribute it by account.',
} as const

/** Finds tables of the host, as the file of shards names them, whose rows do not commit with payouts in one phase. */
export async function diagnosePlacement({ driver, schema, colocated }: Session): Promise<readonly Finding[]> {
  const found = await findMisplaced(driver, schema, colocated)
  return found.map((one) => serious(`table_${one.kind}`, explainMisplacement(one), cures[one.kind]))
}
