import { expect, it } from 'vitest'
import { groupWaits } from './waits.ts'

it('groups sessions by what they wait for, as means over the samples', () => {
  const counts = new Map([
    ['', 30],
    ['IO:WalSync', 10],
    ['LWLock:WALWrite', 50],
    ['Lock:object', 5],
    ['Lock:tuple', 2],
    ['LWLock:ProcArray', 1],
  ])
  expect(groupWaits(counts, 10)).toEqual({
    running: 3,
    'commit flush': 6,
    'WAL insert': 0,
    'page latch': 0,
    'row or table lock': 0.2,
    'notification lock': 0.5,
    'other waits': 0.1,
  })
})

it('gives zeros where nothing was sampled', () => {
  expect(new Set(Object.values(groupWaits(new Map(), 0)))).toEqual(new Set([0]))
})
