/**
 * Mutates files of the core, or some of their lines, and checks whether the tests notice: `mutate retry amount:60-80`, or
 * without names the files in which a mistake moves money.
 */
import { existsSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { Stryker } from '@stryker-mutator/core'

/** Amounts, statuses, keys, pauses, and what an answer means; the nouns first, as in the glossary. */
const money = [
  'amount',
  'transfer-flow',
  'transfer-request',
  'transfer-status',
  'idempotency',
  'counterparty',
  'retry',
  'event',
  'engine/account-limits',
  'engine/adoption',
  'engine/polling',
  'engine/moment',
  'engine/throttling',
  'engine/registration',
  'engine/sending',
  'engine/submission',
]

const resolve = (specifier: string): string => fileURLToPath(import.meta.resolve(specifier))

process.chdir(resolve('../../packages/core'))

const names = process.argv.slice(2)
const places = (names.length === 0 ? money : names).map((name) => {
  const [file = '', lines] = name.split(':')
  return { path: `src/${file.replace(/\.ts$/, '')}.ts`, lines }
})
const missing = places.map(({ path }) => path).filter((path) => !existsSync(path))
if (missing.length > 0) throw new Error(`packages/core has no ${missing.join(', ')}`)

await new Stryker({
  mutate: places.map(({ path, lines }) => (lines === undefined ? path : `${path}:${lines}`)),
  plugins: [resolve('@stryker-mutator/vitest-runner'), resolve('./texts.ts')],
  ignorers: ['texts'],
  testRunner: 'vitest',
  vitest: { configFile: resolve('../vitest.config.ts') },
  // The copy that is mutated lies inside the package, whose own configuration is then the nearest.
  ignorePatterns: ['dist', 'tsconfig.json'],
  tsconfigFile: 'none',
  tempDirName: '.stryker/copies',
  incremental: true,
  incrementalFile: '.stryker/results.json',
  concurrency: 2,
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
}).runMutationTest()
