import { randomUUID } from 'node:crypto'
import { startSandbox } from '@outlay/service/sandbox'
import { openSubject } from '@outlay/testing/conformance/cases'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { openAccount, payoutBody } from './account.ts'

describe('many clients at once', async () => {
  const database = await testDatabase({ role: 'ordinary' })
  const sandbox = await startSandbox({ databaseUrl: database.url })
  afterAll(() => sandbox.stop())

  it('100 requests with one key are one transfer, and every answer has the same bytes', async () => {
    const account = await openAccount(sandbox, '1000')
    const body = await payoutBody(account)
    const key = randomUUID()
    const answers = await Promise.all(Array.from({ length: 100 }, () => account.create(body, { key })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
    const list = await account.call<{ transfers: unknown[] }>('GET', account.at('/transfers'))
    expect(list.json.transfers).toHaveLength(1)
    expect(Number((await account.balance('USDC', 'base')).available)).toBe(999)
  })

  it('64 clients that spend a wallet which covers 32 of them succeed 32 times, and nothing is left', async () => {
    const account = await openAccount(sandbox, '32')
    const body = await payoutBody(account)
    const spenders = await Promise.all(Array.from({ length: 64 }, () => openSubject(account.options)))
    const answers = await Promise.all(spenders.map((one) => one.create(body)))
    const refused = answers.filter(({ status }) => status !== 201)
    expect(answers.length - refused.length).toBe(32)
    for (const { status, text } of refused) expect([status, text.includes('insufficient_balance')]).toEqual([422, true])
    expect(await account.balance('USDC', 'base')).toEqual({ total: '32.00', available: '0.00' })
    for (const { json, status } of answers) if (status === 201) await account.reaches(json.id, 'processing')
    await account.advance(60)
    for (const { json, status } of answers) if (status === 201) await account.reaches(json.id, 'complete')
    expect(await account.balance('USDC', 'base')).toEqual({ total: '0.00', available: '0.00' })
  })

  it('8 accounts that make 20 payouts each at the same time leave nothing in 8 wallets', async () => {
    const accounts = await Promise.all(Array.from({ length: 8 }, () => openAccount(sandbox, '20')))
    await Promise.all(
      accounts.map(async (account) => {
        const body = await payoutBody(account)
        const answers = await Promise.all(Array.from({ length: 20 }, () => account.create(body)))
        expect(answers.every(({ status }) => status === 201)).toBe(true)
        expect((await account.balance('USDC', 'base')).available).toBe('0.00')
      }),
    )
  })
})
