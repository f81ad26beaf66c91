import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { dialects } from '../schema/dialect.ts'
import { writeOpenApi } from './openapi.ts'
import { operationsOf } from './operations.ts'

const linter = join(dirname(fileURLToPath(import.meta.resolve('@redocly/cli/package.json'))), 'bin/cli.js')
const folder = await mkdtemp(join(tmpdir(), 'outlay-openapi-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The rules that a document breaks, by the linter's recommended ones. It asks nobody else. */
async function lint(name: string, document: unknown): Promise<readonly string[]> {
  const path = join(folder, `${name}.json`)
  await writeFile(path, JSON.stringify(document))
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const args = [linter, 'lint', '--extends=recommended', '--format=json', path]
  const text = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { env, cwd: folder, maxBuffer: 2 ** 26 }, (_, stdout) => resolve(stdout))
  })
  const { problems } = JSON.parse(text) as {
    problems: readonly { readonly ruleId: string; readonly message: string }[]
  }
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)
}

const documentOf = (dialect: (typeof dialects)[number]) =>
  writeOpenApi({ operations: operationsOf(dialect, dialect === 'public' ? ['plaid'] : []) })

it.each(dialects)('the document of the dialect %s breaks no recommended rule', async (dialect) => {
  expect(await lint(dialect, documentOf(dialect))).toEqual([])
})

it('a document that breaks rules is found out', async () => {
  const { info: _, ...rest } = documentOf('specification')
  expect(await lint('broken', rest)).toEqual([expect.stringContaining('info')])
  const unused = { schemas: { ...(rest['components'] as { schemas: object }).schemas, Nothing: { type: 'string' } } }
  const more = { ...documentOf('specification'), components: { ...(rest['components'] as object), ...unused } }
  expect(await lint('unused', more)).toEqual([expect.stringContaining('no-unused-components')])
})
