import type { Logger } from '@outlay/core'
import type { AuditPort } from '@outlay/core/adapter'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'

/** Pause between two additions to the chain of the audit, in milliseconds: what is younger can be removed without a trace. */
const pauseMs = 2_000

/** Entries added in one statement. */
const chainedAtOnce = 500

/** What the chainer works with. */
export interface AuditChainerOptions {
  readonly audit: Pick<AuditPort<never>, 'chainAudit'>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
}

/** Starts the loop that adds committed entries of the audit to its chain. */
export const startAuditChainer = ({ audit, logger, loops }: AuditChainerOptions): Loop =>
  startLoop({
    name: 'chain audit',
    logger,
    loops,
    turn: async () => ((await audit.chainAudit(chainedAtOnce)) === chainedAtOnce ? 0 : pauseMs),
  })
