import { Id } from '@outlay/core'
import { recordingLogger } from '@outlay/testing'
import { expect, it, onTestFinished } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { type AutomationResource, virtualAccountPlace } from './automations.ts'
import { automationsRoutes } from './routes.ts'

const { pool } = await serviceDatabase()

/** Writes open automations with their sealed account numbers. */
const insertOpen = (accountId: string, ids: readonly string[], sealed: readonly string[]) =>
  inspect(pool).query(
    `insert into ${testSchema}.automation
       (id, account_id, environment, name, status, source_value_type, destination_address_id, destination_value_type,
        destination_transfer_type, beneficiary_name, beneficiary_address, financial_institution_id, account_number,
        account_number_index, bank_name, bank_address, routing_number, created_at, updated_at)
     select n.id, $1, 'testnet', 'Many', 'active', 'USD', n.id, 'USDC', 'sepolia', 'Acme', '1 Main St', n.id, n.sealed, n.id, 'Bank', '1 Main St', '021000021', now(), now()
       from unnest($2::text[], $3::text[]) n (id, sealed)`,
    [accountId, ids, sealed],
  )

it('a list of many automations has all of them, newest first, and is made in parts', async () => {
  const context = testContext({ pool })
  const service = testService(context, [automationsRoutes])
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token)
  const nextId = Id.createSequence(context.clock, context.random)
  const ids = Array.from({ length: 500 }, () => nextId())
  const numberOf = (at: number) => `9${String(at).padStart(11, '0')}`
  const sealed = ids.map((id, at) => context.secrets.seal(numberOf(at), virtualAccountPlace(id)))
  await insertOpen(accountId, ids, sealed)
  const perTurn = [0]
  let isDone = false
  onTestFinished(() => {
    isDone = true
  })
  const countTurn = () => {
    perTurn.push(0)
    if (!isDone) setImmediate(countTurn)
  }
  const open = context.secrets.open
  Object.assign(context.secrets, {
    open(...given: Parameters<typeof open>) {
      perTurn[perTurn.length - 1] = (perTurn.at(-1) ?? 0) + 1
      return open(...given)
    },
  })
  countTurn()
  const list = () =>
    service.call<{ automations: readonly AutomationResource[] }>(`/accounts/${accountId}/automations`, { token })
  const answers = await Promise.all([list(), list()])
  for (const { status, json } of answers) {
    expect(status).toBe(200)
    expect(json.automations.map(({ id }) => id)).toEqual(ids.toReversed())
    expect(json.automations.at(-1)?.source.funding_instructions?.account_number).toBe(numberOf(0))
  }
  expect(Math.max(...perTurn)).toBe(100)
  expect(perTurn.reduce((sum, count) => sum + count)).toBe(1_000)
})

it('an automation whose account number no key opens hides no other one, and is changed', async () => {
  const logger = recordingLogger()
  const context = testContext({ pool, logger })
  const service = testService(context, [automationsRoutes])
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token)
  const nextId = Id.createSequence(context.clock, context.random)
  const ids = [nextId(), nextId(), nextId()]
  const [known, ...lost] = ids.map((id) => context.secrets.seal('900000000001', virtualAccountPlace(id)))
  const unreadable = lost.map((sealed) => sealed.split('').toReversed().join(''))
  await insertOpen(accountId, ids, [known ?? '', ...unreadable])
  const path = `/accounts/${accountId}/automations`
  const list = await service.call<{ automations: readonly AutomationResource[] }>(path, { token })
  const numbers = list.json.automations.map(({ id, source }) => [
    id,
    source.funding_instructions?.account_number ?? null,
  ])
  expect(numbers).toEqual([
    [ids[2], null],
    [ids[1], null],
    [ids[0], '900000000001'],
  ])
  const warnings = () => logger.entries.filter(({ level }) => level === 'warn').map(({ fields }) => fields)
  expect(warnings()).toEqual([{ accountId, automationId: ids[2], count: 2, error: 'Error' }])
  const one = await service.call<AutomationResource>(`${path}/${ids[1]}`, { token })
  expect([one.status, one.json.source.funding_instructions]).toEqual([200, null])
  const body = { status: 'archived' }
  const archived = await service.call<AutomationResource>(`${path}/${ids[1]}`, { method: 'PATCH', token, body })
  expect([archived.status, archived.json.status, archived.json.source.funding_instructions]).toEqual([
    200,
    'archived',
    null,
  ])
  expect(warnings().slice(1)).toEqual(
    ids.slice(1, 2).flatMap((automationId) => [
      { automationId, error: 'Error' },
      { automationId, error: 'Error' },
    ]),
  )
})

it('a change whose answer cannot be written is not made', async () => {
  const context = testContext({ pool, logger: recordingLogger() })
  const service = testService(context, [automationsRoutes])
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token)
  const id = Id.generate(context.clock, context.random)
  await insertOpen(accountId, [id], ['unreadable'])
  Object.assign(context.logger, {
    warn: () => {
      throw new Error('The log is full.')
    },
  })
  const path = `/accounts/${accountId}/automations/${id}`
  const change = { method: 'PATCH', token, body: { status: 'archived' } }
  expect((await service.call(path, change)).status).toBe(500)
  const { rows } = await inspect(pool).query(`select status from ${testSchema}.automation where id = $1`, [id])
  expect(rows).toEqual([{ status: 'active' }])
})
