import { randomBytes } from 'node:crypto'
import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { testAutomations } from '../test/automations.ts'
import { testSandbox } from '../test/sandbox.ts'
import { createService, type Service } from './service.ts'
import type { ServiceOptions } from './service-options.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 12 })
afterAll(() => pool.end())

const refusal =
  /^encryptionKey is not that of this database \((.+)\): .* Give this process the keys that the other processes have/

function serviceWith(schema: string, encryptionKey: ServiceOptions['encryptionKey'], logger = recordingLogger()) {
  const service = createService({ pool, schema, rails: 'simulated', encryptionKey, logger })
  onTestFinished(() => service.stop())
  return service
}

async function readinessOf({ fetch }: Service) {
  const answer = await fetch(new Request('http://service.test/ready'))
  return { status: answer.status, ...((await answer.json()) as object) }
}

it('refuses a key that is not that of the database, at the start and at each probe', async () => {
  const key = randomBytes(32)
  const right = serviceWith('probes', key)
  await expect(right.start()).rejects.toMatchObject({ code: 'not_migrated' })
  await right.migrate()
  await right.start()
  const logger = recordingLogger()
  const wrong = serviceWith('probes', randomBytes(32), logger)
  await expect(wrong.start()).rejects.toThrow(refusal)
  expect(wrong.context.engine.workers().phase).not.toBe('running')
  expect(await readinessOf(wrong)).toMatchObject({ status: 503, database: true, migrated: true, keys: false })
  expect(logger.entries.find(({ level }) => level === 'error')?.message).toMatch(refusal)
  expect(await readinessOf(right)).toMatchObject({ status: 200, ready: true, keys: true })
  await serviceWith('probes', key).start()
})

it('takes a new key before the old one, and no other key for digests', async () => {
  const [old, young, other] = [randomBytes(32), randomBytes(32), randomBytes(32)]
  const keyOf = (id: string, key: Uint8Array) => ({ id, key })
  const first = serviceWith('rotation', old)
  await first.migrate()
  await first.start()
  const both = [keyOf('k2', young), keyOf('k1', old)] as const
  await serviceWith('rotation', { keys: both, macKey: old }).start()
  const refused = (keys: ServiceOptions['encryptionKey']) =>
    serviceWith('rotation', keys)
      .start()
      .then(
        () => undefined,
        ({ message }: Error) => refusal.exec(message)?.[1],
      )
  expect(await refused({ keys: both, macKey: other })).toBe('digests')
  expect(await refused({ keys: [keyOf('k2', other), keyOf('k1', old)], macKey: old })).toBe('key:k2')
  const logger = recordingLogger()
  await serviceWith('rotation', old, logger).start()
  expect(logger.entries.find(({ level }) => level === 'warn')?.fields['keys']).toEqual(['key:k2'])
})

it('lets one of two processes with different keys start that are the first ones', async () => {
  const services = [randomBytes(32), randomBytes(32)].map((key) => serviceWith('race', key))
  await services[0]?.migrate()
  const waiting = await pool.connect()
  let settled: Promise<readonly PromiseSettledResult<void>[]> | undefined
  try {
    await waiting.query('begin')
    await waiting.query('lock table race.key_check in share row exclusive mode')
    settled = Promise.allSettled(services.map((service) => service.start()))
    // Both have read that there are no keys, and wait to store theirs.
    await expect
      .poll(async () => {
        const { rows } = await waiting.query(
          `select count(*)::int as count from pg_locks where relation = 'race.key_check'::regclass and not granted`,
        )
        return rows[0]?.count
      })
      .toBe(2)
  } finally {
    await waiting.query('rollback')
    waiting.release()
  }
  const outcomes = await settled
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const reasons = outcomes.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).message] : []))
  expect(reasons[0]).toMatch(refusal)
})

it('stores the keys of a database of an earlier release only if they open what is in it', async () => {
  const schema = 'earlier'
  const encryptionKey = randomBytes(32)
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: '1' }]
  const api = await testSandbox(database.url, funds, { schema, encryptionKey })
  onTestFinished(() => api.stop())
  await testAutomations(api).open()
  await pool.query(`delete from ${schema}.key_check`)
  const stored = async () => (await pool.query(`select from ${schema}.key_check`)).rows.length
  await expect(serviceWith(schema, randomBytes(32)).start()).rejects.toThrow(refusal)
  const keys = [{ id: 'k1', key: encryptionKey }] as const
  await expect(serviceWith(schema, { keys, macKey: randomBytes(32) }).start()).rejects.toThrow(refusal)
  expect(await stored()).toBe(0)
  await serviceWith(schema, { keys, macKey: encryptionKey }).start()
  expect(await stored()).toBe(2)
})
