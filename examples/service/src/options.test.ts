import { expect, it } from 'vitest'
import { readCatalog } from './catalog.ts'
import { readOptions } from './options.ts'

const variables = { databaseUrl: undefined, encryptionKey: undefined, repository: '/outlay', uid: 1000 }
const read = (...args: readonly string[]) => readOptions(args, variables)

it('reads the dialect with its aliases and the catalog', () => {
  expect(read()).toMatchObject({
    dialect: 'specification',
    bankLinkAliases: undefined,
    catalogModule: undefined,
  })
  const given = read('--dialect', 'public', '--bank-link-alias', 'plaid', '--bank-link-alias', 'other')
  expect(given).toMatchObject({ dialect: 'public', bankLinkAliases: ['plaid', 'other'] })
  expect(read('--catalog', './catalog.js')).toMatchObject({ catalogModule: './catalog.js' })
})

it('refuses a dialect that does not exist, and a module without a catalog', async () => {
  expect(() => read('--dialect', 'private')).toThrow('--dialect must be specification or public.')
  expect(await readCatalog(undefined)).toBeUndefined()
  await expect(readCatalog(new URL('options.ts', import.meta.url).pathname)).rejects.toThrow(
    'does not export a catalog',
  )
})
