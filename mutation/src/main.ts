/** Mutates files of the core and looks whether its tests notice: `mutate retry transfer-status engine/submission`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { Stryker } from '@stryker-mutator/core'
import { files } from './files.ts'

const here = (path: string): string => fileURLToPath(import.meta.resolve(path))

process.chdir(here('../../packages/core'))

const names = process.argv.slice(2)
const mutate = (names.length === 0 ? files : names).map((name) => `src/${name.replace(/\.ts$/, '')}.ts`)
const missing = mutate.find((path) => !existsSync(join(process.cwd(), path)))
if (missing !== undefined) throw new Error(`There is no packages/core/${missing}.`)

const stryker = new Stryker({
  mutate,
  plugins: [here('@stryker-mutator/vitest-runner'), here('./texts.ts')],
  ignorers: ['texts'],
  testRunner: 'vitest',
  vitest: { configFile: here('../vitest.config.ts') },
  tsconfigFile: 'none',
  ignorePatterns: ['dist', 'tsconfig.json'],
  concurrency: 2,
  incremental: true,
  incrementalFile: '.stryker/incremental.json',
  tempDirName: '.stryker/sandboxes',
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
})
await stryker.runMutationTest()
