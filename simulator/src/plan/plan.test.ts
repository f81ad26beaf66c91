import { describe, expect, it } from 'vitest'
import { drawPlan } from './plan.ts'

const seeds = Array.from({ length: 200 }, (_, index) => index + 1)

describe('a plan', () => {
  it('is the same for the same seed and another one for another', () => {
    expect(drawPlan(7)).toEqual(drawPlan(7))
    expect(new Set(seeds.map((seed) => JSON.stringify(drawPlan(seed).steps))).size).toBe(seeds.length)
  })

  it('numbers its payouts without holes', () => {
    for (const seed of seeds) {
      const numbers = drawPlan(seed).steps.flatMap((step) => ('payouts' in step ? step.payouts : []))
      const sorted = numbers.map(({ number }) => number).sort((a, b) => a - b)
      expect(sorted).toEqual(numbers.map((_, index) => index))
    }
  })

  it('lets a firewall refuse what nobody has sent yet, and has others of its tenant behind it', () => {
    const found = seeds.flatMap((seed) => {
      const { steps } = drawPlan(seed, new Set(['firewalls']))
      return steps.flatMap((step, place) =>
        step.do === 'firewall' && step.isNew ? [[step, ...steps.slice(place + 1, place + 3)] as const] : [],
      )
    })
    expect(found.length).toBeGreaterThan(100)
    for (const [firewall, refused, behind] of found) {
      expect(refused).toMatchObject({ do: 'enqueue', payouts: [{ number: firewall.payout }], rollBack: false })
      expect(behind).toMatchObject({ do: 'enqueue', tenant: refused?.do === 'enqueue' ? refused.tenant : -1 })
    }
  })

  it('commands batches whose payouts were sent and wait, or are locked, and resubmits into closed ones, behind what it would do without them', () => {
    const commands = new Set<string>()
    for (const seed of seeds.slice(0, 50)) {
      const others = drawPlan(seed, new Set(['quotes'])).steps
      const { steps } = drawPlan(seed, new Set(['quotes', 'waiting_batches']))
      expect(steps.slice(0, others.length)).toEqual(others)
      for (const step of steps.slice(others.length)) if (step.do === 'command_batch') commands.add(step.what)
    }
    expect([...commands].sort()).toEqual(['cancel', 'close', 'pause', 'resume'])
  })

  it('comes to every kind of step and of payout within two hundred seeds', () => {
    const steps = seeds.flatMap((seed) => drawPlan(seed).steps)
    expect(new Set(steps.map((step) => step.do)).size).toBe(62)
    const payouts = steps.flatMap((step) => ('payouts' in step ? step.payouts : []))
    expect(new Set(payouts.map(({ kind }) => kind)).size).toBe(14)
  })
})
