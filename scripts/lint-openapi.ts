/**
 * Lints the OpenAPI document of each dialect under the rules `spectral:oas` of Spectral. It is no dependency: it
 * would add 204 packages and 68 MB for a check that the tests have much of from another linter, which is one package. `npx` gets it.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeOpenApi } from '../packages/service/src/openapi/openapi.ts'
import { operationsOf } from '../packages/service/src/openapi/operations.ts'
import { dialects } from '../packages/service/src/schema/dialect.ts'

const folder = mkdtempSync(join(tmpdir(), 'outlay-openapi-'))
try {
  writeFileSync(join(folder, 'rules.yaml'), 'extends: ["spectral:oas"]\n')
  const documents = dialects.map((dialect) => {
    const operations = operationsOf(dialect, dialect === 'public' ? ['plaid'] : [])
    writeFileSync(join(folder, `${dialect}.json`), JSON.stringify(writeOpenApi({ operations }), null, 2))
    return `${dialect}.json`
  })
  const rules = ['--ruleset', 'rules.yaml', '--fail-severity', 'hint']
  const command = ['-y', '@stoplight/spectral-cli@6.16.3', 'lint', ...rules, ...documents]
  const { status } = spawnSync('npx', command, { cwd: folder, stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
