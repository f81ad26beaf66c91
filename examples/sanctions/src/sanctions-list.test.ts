import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ScreenedTransfer } from '@outlay/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sanctionsList } from './sanctions-list.ts'

const { signal } = new AbortController()
const day = 86_400_000

describe('the list of sanctions', () => {
  let folder: string
  let path: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sanctions-'))
    path = join(folder, 'list.tsv')
  })
  afterAll(() => rm(folder, { recursive: true }))
  const payTo = (addressId: string, name?: string) =>
    ({
      request: { destination: { addressId } },
      ...(name === undefined ? {} : { counterparty: { name } }),
    }) as unknown as ScreenedTransfer
  const make = () =>
    sanctionsList({ path, olderThanMs: day, nameOf: async (id) => (id === 'known' ? 'Ivan Sidorov' : undefined) })

  it('refuses a name in any order and spelling, holds one that is like it, and lets others pass', async () => {
    await writeFile(path, '# a comment\nL-1\tIván Petrovich Sidorov\tIvan Sidorov\n\nL-2\tBlackwater Ltd\t\n')
    const screen = make()
    const say = async (name: string) => (await screen(payTo('any', name), signal)).result
    expect(await say('SIDOROV, Ivan')).toBe('refuse')
    expect(await say('ivan petrovich sidorov')).toBe('refuse')
    expect(await say('Ivan Petrov Sidorov')).toBe('hold')
    expect(await say('Blackwater Ltd Holding')).toBe('hold')
    expect(await say('Ada Lovelace')).toBe('pass')
  })

  it('asks the host who a registered payee is, and holds whom nobody knows', async () => {
    await writeFile(path, 'L-1\tIvan Sidorov\n')
    expect((await make()(payTo('known'), signal)).result).toBe('refuse')
    expect((await make()(payTo('unknown'), signal)).result).toBe('hold')
    expect((await make()(payTo('unknown', ' . '), signal)).result).toBe('hold')
  })

  it('gives no answer by a list that is missing, empty, broken or old, and reads a new one', async () => {
    const screen = make()
    const ask = () => screen(payTo('any', 'Ada Lovelace'), signal)
    for (const text of ['', '# nothing\n', 'L-1\n', '\tIvan\n']) {
      await writeFile(path, text)
      await utimes(path, new Date(), new Date(Date.now() - text.length * 1_000))
      await expect(ask(), JSON.stringify(text)).rejects.toThrow('list')
    }
    await writeFile(path, 'L-1\tIvan Sidorov\n')
    expect((await ask()).result).toBe('pass')
    await utimes(path, new Date(), new Date(Date.now() - 2 * day))
    await expect(ask()).rejects.toThrow('bring the new one')
    await writeFile(path, 'L-1\tAda Lovelace\n')
    expect((await ask()).result).toBe('refuse')
    await rm(path)
    await expect(ask()).rejects.toThrow('ENOENT')
  })
})
