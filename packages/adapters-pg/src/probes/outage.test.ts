import { expect, it } from 'vitest'
import { createOutage } from './outage.ts'

const dispatch = { name: 'dispatch', forMs: 1_001 }

function open() {
  const state = { ms: 0, answers: true, asked: 0 }
  const judge = createOutage({
    async isAnswering() {
      state.asked += 1
      return state.answers
    },
    hungAfterMs: 1_000,
    realTimeMs: () => state.ms,
  })
  return { state, judge }
}

it('a hang is a fault of the process while the database answers, and nobody is asked where nothing hangs', async () => {
  const { state, judge } = open()
  expect([await judge([]), state.asked]).toEqual([[], 0])
  expect([await judge([dispatch]), state.asked]).toEqual([[dispatch], 1])
})

it('a hang is none while the database does not answer, nor for a while afterwards', async () => {
  const { state, judge } = open()
  state.answers = false
  for (let minute = 0; minute < 60; minute += 1) {
    state.ms = minute * 60_000
    expect(await judge([dispatch])).toEqual([])
  }
  state.answers = true
  state.ms += 1_000
  expect(await judge([dispatch])).toEqual([])
  state.ms += 1
  expect(await judge([dispatch])).toEqual([dispatch])
})

it('an outage of more than an hour explains no hang, since the pool itself may be dead, and the next outage is a new one', async () => {
  const { state, judge } = open()
  state.answers = false
  await judge([dispatch])
  state.ms = 3_600_000
  expect(await judge([dispatch])).toEqual([])
  state.ms += 1
  expect(await judge([dispatch])).toEqual([dispatch])
  await judge([])
  expect(await judge([dispatch])).toEqual([])
})
