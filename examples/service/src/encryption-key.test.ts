import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { provideKey } from './encryption-key.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'outlay-key-'))
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
})
const databaseUrl = 'postgres://payments@db.example/payments'
const provide = (given?: string, url: string | undefined = databaseUrl) =>
  provideKey({ dataDir, databaseUrl: url, encryptionKey: given })

it('makes a key for each database, keeps it, and lets nobody else read it', async () => {
  const first = await provide()
  expect([first?.key.length, first?.isNew]).toEqual([32, true])
  const path = first?.path ?? ''
  expect((await stat(path)).mode & 0o077).toBe(0)
  const again = await provide()
  expect([again?.key, again?.isNew]).toEqual([first?.key, false])
  const other = await provide(undefined, 'postgres://payments@db.example/other')
  expect(other?.key).not.toEqual(first?.key)
  const embedded = await provideKey({ dataDir, databaseUrl: undefined, encryptionKey: undefined })
  expect(embedded?.key).not.toEqual(first?.key)
})

it('two processes that start at once get one key', async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, () => provide()))
  expect(new Set(keys.map((one) => Buffer.from(one?.key ?? []).toString('hex'))).size).toBe(1)
})

it('uses a key that is given, and writes none', async () => {
  const key = randomBytes(32)
  expect(await provide(key.toString('base64'))).toMatchObject({ key, path: undefined, isNew: false })
  await expect(provide('c2hvcnQ=')).rejects.toThrow('OUTLAY_ENCRYPTION_KEY must be 32 octets in base64.')
})

it('refuses a file that is not a key', async () => {
  const { path } = (await provide()) ?? {}
  await writeFile(path ?? '', 'nonsense')
  await expect(provide()).rejects.toThrow('does not hold a key')
  expect(await readFile(path ?? '', 'utf8')).toBe('nonsense')
})

it('refuses a database of an earlier release that has no key, and keeps the embedded one readable', async () => {
  await mkdir(join(dataDir, 'postgres'))
  expect(await provideKey({ dataDir, databaseUrl: undefined, encryptionKey: undefined })).toBeUndefined()
  const { path } = (await provide()) ?? {}
  await rm(path ?? '')
  const name = (path ?? '').replace(/^.*encryption-key/, 'credentials')
  await writeFile(join(dataDir, `${name}.json`), '{}')
  await expect(provide()).rejects.toThrow('a key that is published')
})
