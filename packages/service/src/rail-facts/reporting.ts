import type { ServiceContext } from '../context.ts'
import { countRailException } from '../telemetry.ts'
import type { RailExceptionReason, RailFactKind } from './fact-kind.ts'

/** A new exception, without amounts and names. */
export interface NewRailException {
  readonly id: string
  readonly kind: RailFactKind
  readonly rail?: string | null | undefined
  readonly reason: RailExceptionReason
}

/** Logs new exceptions as warnings, and counts them. Call it after their commit, with `afterCommit` where that is somebody else's. */
export function reportExceptions(
  { logger, telemetry }: Pick<ServiceContext, 'logger' | 'telemetry'>,
  exceptions: readonly NewRailException[],
): void {
  for (const { id, kind, rail, reason } of exceptions) {
    logger.warn({ factId: id, kind, rail, reason }, 'A fact of a rail was not applied; a person has to resolve it.')
    countRailException(telemetry, { kind, rail: rail ?? undefined, reason })
  }
}
