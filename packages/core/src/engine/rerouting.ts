import type { Claim, Settlement } from '../ports/claim.ts'
import type { SubmitResult } from '../ports/gateway.ts'
import type { Logger } from '../ports/runtime.ts'
import type { TransferRequest } from '../transfer-request.ts'
import { describeAnswer, type FinalRefusal, type Gateways, type Reroute } from './gateways.ts'

interface Parts {
  readonly gateways: Pick<Gateways, 'find' | 'names'>
  readonly reroute?: Reroute | undefined
  readonly logger: Pick<Logger, 'error'>
}

/** Statuses after which a server, or one before it, may have acted or may act later, whatever its gateway makes of them. */
const openStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429])

/**
 * The same settlement, with the gateway that takes the transfer over if the host names one. Asks only after a refusal that closed the key, and
 * only while no outcome of the transfer is open. The backend compares that with the log, which has every attempt. An address that this
 * gateway registered does not exist at another one, so a transfer to one stays.
 */
export function decideReroute(
  { gateways, reroute, logger }: Parts,
  claim: Claim,
  result: SubmitResult,
  request: TransferRequest,
  settlement: Settlement,
): Settlement {
  const refusal = readRefusal(claim, result)
  if (reroute === undefined || refusal === undefined || settlement.unknownSince !== null) return settlement
  if (claim.request.destination.address !== undefined) return settlement
  const { transferId, accountId, gateway } = claim
  let answer: unknown
  try {
    answer = reroute(request, accountId, refusal)
  } catch (error) {
    answer = error instanceof Error ? error : new Error('thrown')
  }
  if (answer === undefined) return settlement
  if (typeof answer === 'string' && answer !== gateway && gateways.find(answer) !== undefined)
    return { ...settlement, rerouteTo: answer }
  const fields = { transferId, gateway, answer: describeAnswer(answer), known: gateways.names }
  logger.error(fields, 'reroute names no other gateway of this engine, so the refusal stands.')
  return settlement
}

/** The refusal that an answer is; undefined for one that leaves open whether something moved or will. */
function readRefusal({ gateway, unknownSince }: Claim, result: SubmitResult): FinalRefusal | undefined {
  if (unknownSince !== null || result.mayHaveActed === true) return undefined
  if (result.outcome !== 'rejected' || result.nothingMoved !== true) return undefined
  const { code, detail, httpStatus = 0 } = result
  return httpStatus >= 500 || openStatuses.has(httpStatus) ? undefined : { gateway, code, detail }
}
