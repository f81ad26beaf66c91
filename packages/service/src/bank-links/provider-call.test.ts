import { silentLogger } from '@outlay/testing'
import { expect, it } from 'vitest'
import type { BankLinkProvider } from './port.ts'
import { askProvider } from './provider-call.ts'

it('a provider that hangs for one client answers the others, and refuses what has no place', async () => {
  const end = Promise.withResolvers<string>()
  const provider = {} as BankLinkProvider
  let calls = 0
  const ask = (party: string, answer: Promise<string>) =>
    askProvider({ logger: silentLogger }, provider, party, () => {
      calls += 1
      return answer
    })
  const hung = Array.from({ length: 80 }, () => ask('busy', end.promise))
  await expect(ask('busy', end.promise)).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(calls).toBe(16)
  expect(await ask('other', Promise.resolve('answered'))).toBe('answered')
  end.resolve('late')
  expect(new Set(await Promise.all(hung))).toEqual(new Set(['late']))
})
