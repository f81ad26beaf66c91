import { type Choices, type Draw, startDrawing } from './draw.ts'
import { type MovingStep, moveMoments } from './moves.ts'
import { administration, disturbances, hostSteps, type Plan, precede, type Step } from './plan.ts'
import { sumMost } from './players.ts'

const drawMove = ({ below, oneOf, fraction, tenants }: Draw): MovingStep => ({
  do: 'move',
  tenant: below(tenants),
  to: below(2),
  attemptsMs: oneOf([1, 1, 300]),
  dies:
    fraction() < 0.4 ? { at: oneOf(moveMoments), phase: oneOf(['before', 'after']), nth: oneOf([1, 1, 1, 2]) } : null,
  isAwaited: fraction() < 0.4,
})

/** Moves of an account that has something under way, to each side, and what happens to it meanwhile. */
const drawMoves = (draw: Draw): readonly Step[] => {
  const { below, oneOf, fraction, payouts } = draw
  const move = drawMove(draw)
  const { tenant } = move as Extract<MovingStep, { readonly do: 'move' }>
  const enqueue = (count: number): Step => ({ do: 'enqueue', tenant, payouts: payouts(count), rollBack: false })
  const wait = (): Step => ({ do: 'wait', ms: oneOf([5, 40, 150]) })
  const next = oneOf<() => readonly Step[]>([
    () => [],
    // Whoever finds it half done goes on with it, or takes it back.
    () => [wait(), { ...drawMove(draw), tenant, dies: null } as Step],
    () => [{ ...drawMove(draw), tenant } as Step, { ...drawMove(draw), tenant } as Step],
    () => [wait(), { do: 'repeat', payout: draw.some(), changed: false }],
  ])()
  return [enqueue(1 + below(4)), ...(fraction() < 0.5 ? [wait()] : []), move, enqueue(1 + below(2)), ...next]
}

const drawAcross = ({ below, oneOf, fraction, tenants, payouts }: Draw): MovingStep => ({
  do: 'enqueue_across',
  tenant: below(tenants),
  payouts: payouts(1 + below(2)),
  isSnapshot: fraction() < 0.3,
  forMs: oneOf([null, null, 0, 100, 300]),
})

/** What is set for all accounts before: limits, or who has to approve. */
const drawControl = ({ oneOf }: Draw): Step | undefined =>
  oneOf<Step | undefined>([undefined, { do: 'set_limits', most: sumMost }, { do: 'set_policies', from: 5 }])

const approvals = ({ some, oneOf, below }: Draw): Choices<Step> => [
  [20, () => ({ do: 'approve', payout: some(), by: below(4) })],
  [6, () => ({ do: oneOf(['reject', 'hold_back', 'let_go']), payout: some(), by: below(4) })],
]

/** Draws the plan of a seed in which hosts have two databases, and accounts move between them. Pure. */
export function drawMovingPlan(seed: number): Plan {
  const dice = startDrawing(seed)
  const { fraction, below } = dice
  const draw = { ...dice, tenants: 2 + below(2) }
  const control = drawControl(draw)
  const choices: Choices<() => readonly Step[]> = [
    ...[...hostSteps(draw), ...disturbances(draw, new Set()), ...administration(draw)].map(
      ([weight, make]) => [weight, () => () => [make()]] as const,
    ),
    ...(control?.do === 'set_policies' ? approvals(draw) : []).map(
      ([weight, make]) => [weight, () => () => [make()]] as const,
    ),
    [45, () => () => drawMoves(draw)],
    [14, () => () => [drawAcross(draw)]],
    [4, () => () => [{ do: 'end_moves' }]],
    [fraction() < 0.1 ? 4 : 0, () => () => [{ do: 'restart_postgres' }]],
  ]
  const total = choices.reduce((sum, [weight]) => sum + weight, 0)
  const drawSteps = (): readonly Step[] => {
    let left = fraction() * total
    for (const [weight, make] of choices) {
      left -= weight
      if (left < 0) return make()()
    }
    return []
  }
  const starts = [0, 1].map((worker): Step => ({ do: 'start', worker, skewSeconds: 0, concurrency: 8 }))
  const first = control === undefined ? [] : [control]
  const drawn = [...first, ...Array.from({ length: 6 + below(12) }, drawSteps).flat()]
  const steps = [...starts, ...drawn.flatMap((one) => precede(draw, one))]
  return { seed, tenants: draw.tenants, sharesClient: false, hasNodes: true, steps }
}
