import { randomBytes } from 'node:crypto'
import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { expect, it } from 'vitest'
import { startSandbox } from './sandbox.ts'

const database = await testDatabase({ role: 'ordinary' })

it.each(['postgres://payments@db.example/payments', 'postgres://payments@10.1.2.3:5432/payments'])(
  'no database on another machine is written with the key that everybody knows: %s',
  async (databaseUrl) => {
    await expect(startSandbox({ databaseUrl })).rejects.toThrow(/^Give the sandbox an encryptionKey: everybody knows/)
  },
)

it('warns of the key that everybody knows, and not of one that is given', async () => {
  const warnings = async (schema: string, encryptionKey?: Uint8Array) => {
    const logger = recordingLogger()
    await using _ = await startSandbox({ databaseUrl: database.url, schema, logger, encryptionKey })
    return logger.entries.filter(({ level, message }) => level === 'warn' && message.includes('key'))
  }
  expect((await warnings('known')).map(({ message }) => message)).toEqual([
    expect.stringContaining('secrets of webhooks'),
  ])
  expect(await warnings('given', randomBytes(32))).toEqual([])
})

it('webhooks to private addresses are an option', async () => {
  const allowed = async (options: { readonly allowPrivateWebhooks?: boolean }) => {
    await using sandbox = await startSandbox({ databaseUrl: database.url, ...options })
    return sandbox.service.context.allowPrivateWebhooks
  }
  expect([await allowed({}), await allowed({ allowPrivateWebhooks: false })]).toEqual([true, false])
})
