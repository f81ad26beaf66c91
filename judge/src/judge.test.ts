import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { change, defects, isSent } from '../test/defects.ts'
import { create, type Draft, effect, intent, notice, smallHistory } from '../test/small-history.ts'
import { type Exchange, files } from './history.ts'
import { judge, report } from './verdict.ts'

/** A small history with something wrong in it. */
function doctored(doctor: (draft: Draft) => void): Draft {
  const draft = smallHistory()
  doctor(draft)
  return draft
}

const withoutAnswer = (id: string, at: number): Exchange => {
  const { status: _status, answer: _answer, ...rest } = create(id, at)
  return { ...rest, end: 'unanswered' }
}

describe('the judge', () => {
  it('finds nothing in a history in which everything is right', () => {
    expect(judge(smallHistory())).toMatchObject({
      payouts: 8,
      requests: 6,
      effects: 2,
      lost: 0,
      twice: 0,
      unasked: 0,
      violations: [],
    })
  })

  it.each(defects)('finds that %s, as %s', (_what, rule, payout, doctor) => {
    const { violations } = judge(doctored(doctor))
    expect(violations).toContainEqual(expect.objectContaining({ rule, payout }))
  })

  it('has a doctored history for each of its rules', async () => {
    const sources = (await readdir(import.meta.dirname)).filter((name) => !name.endsWith('.test.ts'))
    const texts = await Promise.all(sources.map((name) => readFile(join(import.meta.dirname, name), 'utf8')))
    const rules = texts.join().matchAll(/(?:rule: |\badd\(\s*|\bsay\(\s*|\? say\(\s*)'([a-z_]+)'/g)
    expect(new Set([...rules].map(([, rule]) => rule))).toEqual(new Set(defects.map(([, rule]) => rule)))
  })

  it('says what was broken with the lines that show it', () => {
    const lines = report(judge(doctored(({ service }) => void service.push(effect('a', { id: 'effect-a2' })))))
    expect(lines[0]).toBe('The judge: 8 payouts, 6 requests, 3 effects; lost 0, twice 1, unasked 0')
    expect(lines.join('\n')).toContain('"effect-a2"')
    expect(lines.at(-1)).toMatch(/promises were broken/)
  })
})

describe('what may be', () => {
  const finds = (doctor: (draft: Draft) => void) => judge(doctored(doctor)).violations

  it('is an effect that somebody else made', () => {
    const violations = finds(({ host, service }) => {
      host.push({ kind: 'foreign', at: 0, remote: 'effect-x' })
      service.push(effect('x', { status: 'failed' }))
    })
    expect(violations).toEqual([])
  })

  it('is a payout that is made again after it failed, under a key of its own', () => {
    const violations = finds(({ host, exchanges, service }) => {
      host.push(intent('c2', 4_000, { reference: 'payout c', repeats: 'c' }))
      exchanges.push(create('c', 4_100, { key: 'key-c2', answer: JSON.stringify({ id: 'effect-c2' }) }))
      service.push(effect('c', { id: 'effect-c2', status: 'failed' }))
      const end = notice('c2', 1, 'transfer.failed', 'failed', { remote: 'effect-c2' })
      host.push(end, { ...end, subscription: 'ends' })
    })
    expect(violations).toEqual([])
  })

  it('is a payout that is made again with another amount, and nothing with an amount that nobody asked for', () => {
    const corrected = (sent: string) => (draft: Draft) => {
      const amount = { value: '7.00', currency: 'USDC' }
      draft.host.push(intent('c2', 4_000, { reference: 'payout c', repeats: 'c', amount }))
      draft.service.push(effect('c', { id: 'effect-c2', status: 'failed', amount: { ...amount, value: sent } }))
      const end = notice('c2', 1, 'transfer.failed', 'failed', { remote: 'effect-c2' })
      draft.host.push(end, { ...end, subscription: 'ends' })
      const { body = '' } = create('c', 4_100)
      const again = { key: 'key-c2', answer: JSON.stringify({ id: 'effect-c2' }), body: body.replace('10.5', sent) }
      draft.exchanges.push(create('c', 4_100, again))
    }
    expect(finds(corrected('7.00'))).toEqual([])
    expect(finds(corrected('8.00')).map(({ rule }) => rule)).toEqual(['wrong_effect', 'wrong_request'])
  })

  it('is waiting while the own side is not well, and a scheduled payout when time has passed', () => {
    const violations = finds(({ host, exchanges }) => {
      host.unshift(
        { kind: 'unwell', at: 1_000, account: null, why: 'fault' },
        { kind: 'well', at: 98_000, account: null, why: 'fault' },
      )
      change(exchanges, isSent('c'), { at: 99_000 })
      host.push({ kind: 'travel', at: 50_000, ms: 3_600_000 })
      exchanges.push(create('e', 51_000, { status: 422, answer: '{"code":"insufficient_balance"}' }))
    })
    expect(violations).toEqual([])
  })

  it('is a backlog of its own, as long as the tenant gets on with it', () => {
    const violations = finds(({ exchanges }) => {
      change(exchanges, isSent('c'), { at: 99_000 })
      exchanges.push(create('a', 40_000), create('a', 80_000))
    })
    expect(violations).toEqual([])
  })

  it('is what is open when the run was cut short', () => {
    const violations = finds((draft) => {
      draft.run = { ...draft.run, atRest: false }
      draft.host.push(intent('z', 99_000))
    })
    expect(violations).toEqual([])
  })

  it.each([
    [1_050, 'later'],
    [1_200, 'before'],
  ])('is an attempt at %i without an answer whose key was answered %s', (at) => {
    const violations = finds(({ exchanges }) => void exchanges.push(withoutAnswer('b', at)))
    expect(violations).toEqual([])
  })

  it('is a registration whose key is sent again a month later', () => {
    const registration = (at: number) => ({
      ...withoutAnswer('a', at),
      path: '/accounts/account-1/addresses/external',
      key: 'of the address',
      body: '{}',
    })
    const month = 31 * 86_400_000
    expect(finds(({ exchanges }) => void exchanges.push(registration(1_050), registration(1_050 + month)))).toEqual([])
  })

  it.each([
    [1_500, []],
    [1_050, ['key_too_old']],
  ])('is an old key, when a lack of funds at %i comes after the attempt without an answer', (at, rules) => {
    const violations = finds(({ exchanges }) => {
      const answer = JSON.stringify({ code: 'insufficient_balance' })
      exchanges.push(create('a', at, { status: 422, answer }), create('a', 1_100 + 31 * 86_400_000))
    })
    expect(violations.map(({ rule }) => rule)).toEqual(rules)
  })
})

describe('the command', () => {
  it.each([
    [0, 'every promise held', () => undefined],
    [1, 'twice: payout a', ({ service }: Draft) => void service.push(effect('a', { id: 'effect-a2' }))],
  ] as const)('ends with %i and says "%s"', async (code, text, doctor) => {
    const folder = await mkdtemp(join(tmpdir(), 'judge-'))
    const { run, host, exchanges, service } = doctored(doctor)
    const write = (name: string, lines: readonly unknown[]) =>
      writeFile(join(folder, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await Promise.all([
      write(files.run, [run]),
      write(files.host, host),
      write(files.exchanges, exchanges),
      write(files.service, service),
    ])
    const ran = await promisify(execFile)(process.execPath, [
      join(import.meta.dirname, 'main.ts'),
      '--history',
      folder,
    ]).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code: number; stdout: string }) => error,
    )
    await rm(folder, { recursive: true })
    expect(ran.code).toBe(code)
    expect(ran.stdout).toContain(text)
  })
})
