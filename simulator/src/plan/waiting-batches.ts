import type { Draw } from './draw.ts'
import type { PlayerStep } from './players.ts'

/** Steps of this player and those of others that it takes. */
type Step =
  | PlayerStep
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'travel'; readonly seconds: number }
  | { readonly do: 'cancel' | 'resubmit'; readonly payout: number }
  | { readonly do: 'start'; readonly worker: number; readonly skewSeconds: number; readonly concurrency: number }
  | { readonly do: 'network'; readonly on: 'creates'; readonly fault: 'drop_response' | 'busy'; readonly times: number }

/** The first batch that no other player fills. */
const firstBatch = 10

const wait = (ms: number): Step => ({ do: 'wait', ms })

/**
 * Steps after which what is in a batch waits although it was sent before, or while a host has it locked, and then a command to the batch; or
 * a resubmission into one that is closed.
 */
const drawOne = ({ below, oneOf, payouts, tenants }: Draw, batch: number): readonly Step[] => {
  const tenant = batch % tenants
  const how = oneOf(['cancel', 'pause', 'lock', 'resubmit'] as const)
  const filling = {
    do: 'fill_batch',
    tenant,
    batch,
    payouts: payouts((how === 'resubmit' ? 2 : 1) + below(3)).map(({ number }) => ({
      ...({ number, kind: 'token', amount: 1 + below(40) } as const),
    })),
    transactions: 1,
    isReversed: false,
    rolledBack: null,
    isSnapshot: false,
    meanwhile: 'nothing',
    forMs: 0,
    isRepeated: false,
  } as const satisfies Step
  const command = (what: 'cancel' | 'close' | 'pause' | 'resume') =>
    ({ do: 'command_batch', batch, what, ends: 'commit' }) as const satisfies Step
  const worker = { do: 'start', worker: 1, skewSeconds: 0, concurrency: 8 } as const satisfies Step
  const payout = filling.payouts[0]?.number ?? 0
  if (how === 'resubmit') {
    // What stands for an ended one enters a closed batch too, as long as something in that has not ended.
    return [
      { do: 'end_holds' },
      { ...filling, meanwhile: 'pause' },
      { do: 'cancel', payout },
      command('close'),
      { do: 'resubmit', payout },
    ]
  }
  if (how === 'lock') {
    const lock = {
      ...({ do: 'hold', tenant, holding: 'lock', payout, payouts: [], forMs: null, ends: 'commit' } as const),
      ...({ later: 'nothing', laterPayout: payout } as const),
    } as const satisfies Step
    // A claim finds the pause, and then workers wake what was resumed for longer than they have to.
    const longer: readonly Step[] = [wait(700), { do: 'travel', seconds: 15 }, wait(1_200), { do: 'end_holds' }]
    const paused = { ...filling, meanwhile: 'pause' } as const satisfies Step
    return [{ do: 'end_holds' }, worker, paused, wait(250), lock, command('resume'), ...longer]
  }
  const fault = how === 'cancel' ? 'drop_response' : oneOf(['drop_response', 'busy'] as const)
  const failing = { do: 'network', on: 'creates', fault, times: filling.payouts.length + 2 } as const satisfies Step
  const sent: readonly Step[] = [worker, failing, filling, wait(500), command(how)]
  const later: readonly Step[] = [{ do: 'travel', seconds: 60 }, wait(700)]
  return how === 'cancel' ? sent : [...sent, ...later, command('resume'), wait(50)]
}

/** Steps about some batches, for the end of a plan. */
export function drawWaitingBatches(draw: Draw): readonly Step[] {
  return Array.from({ length: 2 }, (_, place) => drawOne(draw, firstBatch + place)).flat()
}
