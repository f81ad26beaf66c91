import { expect, it } from 'vitest'
import { reportBatches } from './fact-ticker.ts'

/** Reports facts of which some are never accepted, two at a time; what is accepted is due no more. */
const reporterOf = (facts: string[], refuses: (fact: string) => boolean) => {
  const batches: string[][] = []
  const reporter = reportBatches(2, async (except) => {
    const due = facts.filter((fact) => !except.includes(fact)).slice(0, 2)
    batches.push(due)
    const refused = due.filter(refuses)
    for (const fact of due) if (!refused.includes(fact)) facts.splice(facts.indexOf(fact), 1)
    return { read: due.length, accepted: due.length - refused.length, refused }
  })
  const round = async () => {
    for (let reported = -1; reported !== 0; ) reported = await reporter()
  }
  return { batches, round }
}

it('a whole batch that is not accepted does not hide what is due behind it', async () => {
  const facts = ['x1', 'x2', 'x3', 'a', 'x4', 'b']
  const { round } = reporterOf(facts, (fact) => fact.startsWith('x'))
  await round()
  expect(facts).toEqual(['x1', 'x2', 'x3', 'x4'])
})

it('what was not accepted is reported again in the next round', async () => {
  const facts = ['x1', 'x2', 'x3']
  let isFree = false
  const { batches, round } = reporterOf(facts, () => !isFree)
  await round()
  expect(batches).toEqual([['x1', 'x2'], ['x3']])
  isFree = true
  await round()
  expect(facts).toEqual([])
})
