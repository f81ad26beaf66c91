import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createQuestionLimit } from './question-limit.ts'

const refused = { code: 'node_unavailable' }

it('does not ask a silent database again until it has answered', async () => {
  const { ask } = createQuestionLimit('west', 1)
  const first = Promise.withResolvers<string>()
  await expect(ask(() => first.promise)).rejects.toMatchObject(refused)
  let count = 0
  const question = async () => {
    count += 1
    return 'answer'
  }
  await expect(ask(question)).rejects.toMatchObject(refused)
  expect(count).toBe(0)
  first.resolve('late')
  await setImmediate()
  expect(await ask(question)).toBe('answer')
})

it('asks again when the late question has failed, and when it counts as lost', async () => {
  let nowMs = 0
  const { ask } = createQuestionLimit('west', 1, () => nowMs)
  const first = Promise.withResolvers<string>()
  await expect(ask(() => first.promise)).rejects.toMatchObject(refused)
  first.reject(new Error('The connection ended.'))
  await setImmediate()
  await expect(ask(() => new Promise(() => undefined))).rejects.toMatchObject(refused)
  nowMs = 11
  expect(await ask(async () => 'answer')).toBe('answer')
})

it('goes on to ask a database that answers others while one question is slow', async () => {
  let nowMs = 0
  const { ask } = createQuestionLimit('west', 50, () => nowMs)
  const slow = ask(() => new Promise(() => undefined))
  nowMs = 1
  expect(await ask(async () => 1)).toBe(1)
  await expect(slow).rejects.toMatchObject(refused)
  expect(await ask(async () => 2)).toBe(2)
})

it('says since when a database is silent, which is not that it did not answer this question', async () => {
  let nowMs = 0
  const { ask } = createQuestionLimit('west', 1, () => nowMs)
  const slow = ask(() => new Promise(() => undefined)).catch((error: Error) => error)
  expect(await slow).toMatchObject({ ...refused, message: expect.stringContaining('no answer within 1 ms') })
  nowMs = 7
  const message = expect.stringContaining('a question of 7 ms ago has no answer yet, and none came since')
  await expect(ask(async () => 1)).rejects.toMatchObject({ ...refused, message })
})

it('passes on what the database refuses with, and calls a lost connection unavailable', async () => {
  const { ask } = createQuestionLimit('west', 60_000)
  const refusal = Object.assign(new Error('permission denied'), { code: '42501' })
  await expect(ask(() => Promise.reject(refusal))).rejects.toBe(refusal)
  const lost = Object.assign(new Error(''), { code: 'ECONNREFUSED' })
  await expect(ask(() => Promise.reject(new AggregateError([lost])))).rejects.toMatchObject({ ...refused, cause: {} })
  const thrown = () => {
    throw refusal
  }
  await expect(ask(thrown)).rejects.toBe(refusal)
})
