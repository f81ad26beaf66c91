import type { Catalog } from '../catalog.ts'
import { type Issue, OutlayError } from '../error.ts'
import type { Claim, Settlement } from '../ports/claim.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { Environment } from '../transfer-type.ts'
import { blocked } from './submission.ts'

/**
 * Marks a transfer with the environment of the gateway that it is enqueued for, if the gateway declares one.
 * @throws OutlayError `environment_mismatch` for a chain of the other environment, with the field.
 */
export function markEnvironment(
  transfer: NewTransfer,
  environment: Environment | undefined,
  catalog: Catalog,
  prefix: string,
): NewTransfer {
  if (environment === undefined) return transfer
  const issues = (['source', 'destination'] as const).flatMap((leg): Issue[] => {
    const chain = catalog.transferType(transfer.request[leg].transferType)
    if (chain === undefined || chain.environment === null || chain.environment === environment) return []
    const message = `${chain.name} is a ${chain.environment} chain, and the gateway of this engine is for ${environment}`
    return [{ field: `${prefix}${leg}.transferType`, code: 'environment_mismatch', message }]
  })
  const [first, ...rest] = issues
  if (first !== undefined) throw OutlayError.fromIssues([first, ...rest])
  return { ...transfer, environment }
}

/**
 * The environment of a transfer that is enqueued again: that of the first one, whatever this gateway declares.
 * @throws OutlayError `environment_mismatch` when the gateway declares the other one.
 */
export function environmentAgain(
  { id, environment }: Pick<NewTransfer, 'id' | 'environment'>,
  ofGateway: Environment | undefined,
): Environment | undefined {
  if (environment === undefined || ofGateway === undefined || environment === ofGateway) return environment ?? ofGateway
  const message = `The transfer ${id} was enqueued for ${environment}, and the gateway of this engine is for ${ofGateway}; enqueue it again with an engine for ${environment}, in the database of that one.`
  throw new OutlayError('environment_mismatch', message)
}

/** Decides whether a claimed transfer was enqueued for another environment than the gateway's; `undefined` when it was not. */
export function decideEnvironment(claim: Claim, environment: Environment | undefined): Settlement | undefined {
  if (environment === undefined || claim.environment === undefined || claim.environment === environment)
    return undefined
  const detail = `not sent: it was enqueued for ${claim.environment}, and this gateway is for ${environment}`
  return blocked(claim, { outcome: 'throttled', detail }, 'environment_mismatch')
}
