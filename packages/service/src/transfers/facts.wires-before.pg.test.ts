import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { drawn, imad, reportedTransfers, usd } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { applyDeposit } from '../automations/deposits.ts'
import { migrateService } from '../database/migrations.ts'
import { systemSession } from '../database/tenant.ts'

// A database of an earlier release knows whose its wires are.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let transfers: Awaited<ReturnType<typeof reportedTransfers>>
beforeAll(async () => {
  api = await testSandbox(database.url)
  transfers = await reportedTransfers(api)
})
afterAll(() => api.stop())

/** Runs statements as the system, in one transaction. */
async function change(...statements: readonly (readonly [text: string, values?: readonly unknown[]])[]): Promise<void> {
  const { pool, schema } = api.sandbox.service.context
  const client = await pool.connect()
  try {
    await client.query(systemSession.begin)
    for (const [text, values = []] of statements) await client.query(text.replaceAll('{{schema}}', schema), [...values])
  } finally {
    client.release(true)
  }
}

const marksOf = async (owners: readonly (string | undefined)[]) => {
  const { pool, schema } = api.sandbox.service.context
  const { rows } = await inspect(pool).query(
    `select kind, mark, transfer_id as owner from ${schema}.arrival_mark where transfer_id = any ($1) order by mark, kind`,
    [owners],
  )
  return rows.map(({ kind, mark, owner }) => [kind, mark, owner])
}

const releases = [
  '0030_arrival_marks',
  '0031_arrival_marks_of_rows',
  '0032_wires_and_deposits_in_any_case',
  '0033_given_wires',
]

const migrate = () => {
  const { pool, schema } = api.sandbox.service.context
  return migrateService({ pool, schema })
}

it('by what was applied and what is held', async () => {
  const [first, held] = [await transfers.begin('wire'), await transfers.begin('wire')]
  await first.say('accepted', '100', imad(` m${first.id}`))
  await held.say('accepted', '90', drawn(`t${held.id}`))
  await change(
    ['drop table {{schema}}.arrival_mark'],
    [`delete from {{schema}}.migration where name = any ($1)`, [releases]],
  )
  expect(await migrate()).toEqual(releases)
  expect(await marksOf([first.id, held.id])).toEqual([
    ['imad', `M${first.id}`, first.id],
    ['source', `T${held.id}`, held.id],
  ])
})

it('by its rows where no fact says so, by deposits that went back, and by what was dismissed', async () => {
  const automation = await testAutomations(api).open()
  const deposit = (reference: string, details: object, accountNumber: string) =>
    applyDeposit(api.sandbox.service.context, {
      ...{ reference, transferType: 'wire', amount: usd('75.00'), details, accountNumber },
      routingNumber: automation.source.funding_instructions?.routing_number ?? '',
    })
  const [old, dismissed, wrong, right] = [
    await transfers.begin('wire'),
    await transfers.begin('wire'),
    await transfers.begin('wire'),
    await transfers.begin('wire'),
  ]
  await old.say('accepted', '100', drawn(`O${old.id}`))
  await dismissed.say('accepted', '90', imad(`D${old.id}`))
  await dismissed.dismissAll()
  // A wire that was reported for the wrong transfer first, and funded the right one.
  await wrong.say('accepted', '90', imad(`W${old.id}`))
  await wrong.dismissAll()
  await right.say('accepted', '100', imad(`W${old.id}`))
  await right.decide(0, 'apply')
  const credited = await deposit(`c${old.id}`, { imad: `i${old.id}` }, testAutomations(api).accountNumberOf(automation))
  await deposit(`g${old.id}`, { imad: `h${old.id}` }, '1')
  const { pool, schema } = api.sandbox.service.context
  const { rows } = await inspect(pool).query(`select id from ${schema}.returned_deposit where reference = $1`, [
    `g${old.id}`,
  ])
  const creditedId = credited.outcome === 'credited' ? credited.transferId : ''
  await change(
    [`delete from {{schema}}.rail_fact where transfer_id = $1 and kind <> 'expected'`, [old.id]],
    ['delete from {{schema}}.rail_fact where transfer_id = $1', [creditedId]],
    ['delete from {{schema}}.arrival_mark where transfer_id <> $1', [rows[0]?.id]],
    // As a release of between had it.
    [
      `update {{schema}}.arrival_mark set transfer_id = 'nothing', mark = case kind when 'source' then 'g' || substr(mark, 2) else mark end`,
    ],
    [`delete from {{schema}}.migration where name = any ($1)`, [releases.slice(1)]],
  )
  expect(await migrate()).toEqual(releases.slice(1))
  const known = await marksOf([old.id, dismissed.id, wrong.id, right.id, creditedId, rows[0]?.id])
  expect(known).toEqual([
    ['imad', `C${old.id}`, creditedId],
    ['source', `C${old.id}`, creditedId],
    ['imad', `D${old.id}`, dismissed.id],
    ['imad', `G${old.id}`, rows[0]?.id],
    ['source', `G${old.id}`, rows[0]?.id],
    ['imad', `H${old.id}`, rows[0]?.id],
    ['imad', `I${old.id}`, creditedId],
    ['source', `O${old.id}`, old.id],
    ['imad', `W${old.id}`, right.id],
  ])
  expect(await marksOf(['nothing'])).toEqual([])
})

it('by the persons who have credited them to a second transfer', async () => {
  const [first, second] = [await transfers.begin('wire'), await transfers.begin('wire')]
  await first.say('accepted', '100', drawn(`a${first.id}`))
  await second.say('accepted', '100', drawn(`A${first.id}`))
  await second.decide(0, 'apply')
  // As the release before had it.
  await change(
    [
      'update {{schema}}.arrival_mark set transfer_id = $1, mark = $2 where transfer_id = $3',
      [first.id, `a${first.id}`, second.id],
    ],
    ['delete from {{schema}}.migration where name = any ($1)', [releases.slice(2)]],
  )
  expect(await migrate()).toEqual(releases.slice(2))
  expect(await marksOf([first.id, second.id])).toEqual([['source', `A${first.id}`, second.id]])
})

it('in any case, also what a process of an earlier release writes beside the migration', async () => {
  const one = await transfers.begin('wire')
  const row = { fact_id: 'f', rail: 'wire', kind: 'source', mark: `r${one.id}`, transfer_id: one.id }
  await change(['select {{schema}}.arrival_mark_claim($1)', [JSON.stringify([row])]])
  const { rail, kind, mark, transfer_id: owner } = { ...row, mark: `s${one.id}` }
  await change(
    ['insert into {{schema}}.arrival_mark values ($1, $2, $3, $4)', [rail, kind, mark, owner]],
    ['delete from {{schema}}.migration where name = any ($1)', [releases.slice(3)]],
  )
  expect(await migrate()).toEqual(releases.slice(3))
  expect(await marksOf([one.id])).toEqual([
    ['source', `R${one.id}`, one.id],
    ['source', `S${one.id}`, one.id],
  ])
})
