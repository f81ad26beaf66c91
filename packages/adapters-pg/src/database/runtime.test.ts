import { fingerprint } from '@outlay/core'
import { describe, expect, it, vi } from 'vitest'
import { systemRuntime } from './runtime.ts'

describe('the runtime of the system', () => {
  const { digest, random } = systemRuntime()

  it('digests as core does', () => {
    for (const value of [{}, { memo: 'Grüße, 東京, 🚀' }, { amount: { value: '1.00', currency: 'USD' } }]) {
      expect(fingerprint(value, digest)).toBe(fingerprint(value))
    }
  })

  it('warns on the console when no logger is given, one line each, and says nothing else', () => {
    const lines: string[] = []
    const write = (line: string) => void lines.push(line)
    const warn = vi.spyOn(console, 'warn').mockImplementation(write)
    const error = vi.spyOn(console, 'error').mockImplementation(write)
    const others = [vi.spyOn(console, 'log'), vi.spyOn(console, 'info'), vi.spyOn(console, 'debug')]
    const { logger } = systemRuntime()
    for (const level of ['debug', 'info', 'warn', 'error'] as const)
      logger[level]({ accountId: 'a\nb', n: 1n }, `${level}.`)
    logger.warn({}, 'Alone.')
    expect(lines).toEqual([
      "outlay: warn. { accountId: 'a\\nb', n: 1n }",
      "outlay: error. { accountId: 'a\\nb', n: 1n }",
      'outlay: Alone.',
    ])
    expect(others.map((one) => one.mock.calls.length)).toEqual([0, 0, 0])
    for (const one of [warn, error, ...others]) one.mockRestore()
  })

  it('hands every octet out once, however many are asked for', () => {
    const given = [10, 4_096, 1, 5_000, 16].map((length) => random.bytes(length))
    expect(given.map(({ length }) => length)).toEqual([10, 4_096, 1, 5_000, 16])
    const ids = Array.from({ length: 5_000 }, () => Buffer.from(random.bytes(10)).toString('hex'))
    expect(new Set(ids).size).toBe(5_000)
  })
})
