import type { GatewayFacts } from '@outlay/adapters-pg'
import type { Obstacle, SendingState } from '@outlay/core'

/** Whether transfers get through one gateway, and why not. */
export interface GatewayHealth {
  readonly name: string
  readonly state: 'healthy' | 'troubled' | 'unproven'
  readonly reason?: string
  readonly since?: string
  readonly lastAnswerAt?: string
  readonly inFlight: number
  readonly waiting: number
}

/** After so long without its word, no running worker has a gateway, in milliseconds. */
const attendedMs = 120_000

const obstacles: Readonly<Record<Obstacle, string>> = {
  unreachable: 'it cannot be reached',
  misconfigured: 'it is not configured correctly',
  credentials_unavailable: 'the credentials of their accounts could not be read',
}

interface Trouble {
  readonly reason: string
  readonly since?: string | undefined
}

/** Judges one gateway. Troubled is one whose transfers do not get through; healthy is one that has answered within the hour; of any other nothing is known. */
export function judgeGateway(facts: GatewayFacts, sending: SendingState): GatewayHealth {
  const { name, lastAnswerAt, inFlight, waiting } = facts
  const trouble = findTrouble(facts, sending)
  const counts = { inFlight, waiting, ...(lastAnswerAt === null ? {} : { lastAnswerAt }) }
  if (trouble !== undefined) {
    const { reason, since } = trouble
    return { name, state: 'troubled', reason, ...(since === undefined ? {} : { since }), ...counts }
  }
  if (lastAnswerAt !== null) return { name, state: 'healthy', ...counts }
  return { name, state: 'unproven', reason: 'It has answered nothing within the last hour.', ...counts }
}

function findTrouble(facts: GatewayFacts, sending: SendingState): Trouble | undefined {
  if (sending.unfamiliar !== null)
    return { reason: 'This is not the database that its workers know, so nothing is sent.' }
  if (sending.fence !== null) return { reason: 'Sending is fenced until a reconciliation.', since: sending.fence.since }
  const stop = sending.stops.find(({ scope, name }) => scope === 'all' || (scope === 'gateway' && name === facts.name))
  if (stop !== undefined) {
    const by = stop.actor === null ? '' : ` by ${stop.actor}`
    return { reason: `Sending is stopped${by}${stop.reason === null ? '.' : `: ${stop.reason}`}`, since: stop.since }
  }
  const { unattendedMs, attendedAt, waiting, inFlight, obstacle, obstructed, obstructedSince } = facts
  const isUnattended = unattendedMs === null || unattendedMs > attendedMs
  if (isUnattended && waiting + inFlight > 0)
    return { reason: 'No running worker has it, and transfers wait for it.', since: attendedAt ?? undefined }
  if (obstacle === null) return undefined
  const what = obstructed === 1 ? '1 transfer does' : `${obstructed} transfers do`
  return { reason: `${what} not get through, because ${obstacles[obstacle]}.`, since: obstructedSince ?? undefined }
}
