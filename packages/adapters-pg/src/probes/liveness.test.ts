import type { LoopProgress, WorkersState } from '@outlay/core'
import { expect, it } from 'vitest'
import { createLiveness } from './liveness.ts'

const loop = (overrides: Partial<LoopProgress>): LoopProgress => ({
  ...{ name: 'dispatch', turns: 1, turnMs: 0, hostMs: 0 },
  ...overrides,
})

function open() {
  const now = { ms: 0 }
  let state: WorkersState = { phase: 'stopped', loops: [] }
  const findHung = createLiveness(
    () => state,
    1_000,
    () => now.ms,
  )
  const become = (phase: WorkersState['phase'], ...loops: LoopProgress[]) => {
    state = { phase, loops }
    return findHung()
  }
  return { now, become, findHung }
}

it('a loop hangs when its turn does not end, beyond what handlers may take in it', () => {
  const { become } = open()
  expect(become('running', loop({ turnMs: 1_000 }), loop({ name: 'settle', turnMs: 1_001 }))).toEqual([
    { name: 'settle', forMs: 1_001 },
  ])
  expect(become('running', loop({ name: 'subscription a 0', turnMs: 6_000, hostMs: 5_000 }))).toEqual([])
  expect(become('running', loop({ name: 'subscription a 0', turnMs: 6_001, hostMs: 5_000 }))).toHaveLength(1)
})

it('a loop that has begun many turns and pauses does not hang, however long it has run', () => {
  const { become, now } = open()
  become('running')
  now.ms = 86_400_000
  expect(become('running', loop({ turns: 1_000_000 }))).toEqual([])
})

it.each([
  ['starting', 'start'],
  ['stopping', 'stop'],
] as const)('an engine that is %s for too long hangs', (phase, name) => {
  const { become, findHung, now } = open()
  now.ms = 50_000
  expect(become(phase)).toEqual([])
  now.ms += 1_000
  expect(findHung()).toEqual([])
  now.ms += 1
  expect(findHung()).toEqual([{ name, forMs: 1_001 }])
  expect(become('running')).toEqual([])
})

it('an engine that was never started, or has stopped, hangs nowhere', () => {
  const { findHung, become, now } = open()
  now.ms = 86_400_000
  expect(findHung()).toEqual([])
  become('running')
  become('stopped')
  now.ms *= 2
  expect(findHung()).toEqual([])
})
