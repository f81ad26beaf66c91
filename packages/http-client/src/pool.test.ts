import { Agent, type Dispatcher } from 'undici'
import { expect, test } from 'vitest'
import { createPool, poolOf } from './pool.ts'

test('a pool opens once, and closes what it has opened', async () => {
  const pool = createPool({})
  const agent = await pool.open()
  expect(await pool.open()).toBe(agent)
  await pool.close()
  await pool.close()
  expect(agent).toHaveProperty('closed', true)
})

test('a pool that is closed opens nothing that sends', async () => {
  const pool = createPool({})
  await pool.close()
  expect(await pool.open()).toHaveProperty('closed', true)
})

test("a host's dispatcher stays open", async () => {
  const agent = new Agent()
  const pool = poolOf(agent)
  await pool.close()
  expect(await pool.open()).toBe(agent)
  expect(agent).toHaveProperty('closed', false)
  await agent.close()
})

test('a dispatcher that cannot send, such as that of Bun, is refused with what to write', () => {
  expect(() => poolOf({} as Dispatcher)).toThrow("in Bun, import its class from 'undici/index.js'")
})
