import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { root } from '../../scripts/packages.ts'

/** Documents whose TypeScript is compiled as it stands. A guide that is executed or copied from an example has another test. */
const documents = [
  'README.md',
  'docs/guides/after-a-restore.md',
  'docs/guides/approvals.md',
  'docs/guides/batches.md',
  'docs/guides/connecting-a-provider.md',
  'docs/guides/console.md',
  'docs/guides/counterparties.md',
  'docs/guides/finding-transfers.md',
  'docs/guides/going-to-production.md',
  'docs/guides/limits.md',
  'docs/guides/multi-tenancy.md',
  'docs/guides/operating.md',
  'docs/guides/running-workers.md',
  'docs/guides/running-the-service.md',
  'docs/guides/scaling-out.md',
  'docs/guides/webhooks.md',
  'packages/adapters-pg/README.md',
  'packages/console/README.md',
  'packages/core/README.md',
  'packages/harness/README.md',
  'packages/http-client/README.md',
  'packages/opentelemetry/README.md',
  'packages/service/README.md',
  'packages/testing/README.md',
]

// Inside the workspace, so that packages are found, and where nothing is committed.
const directory = join(import.meta.dirname, '../dist/snippets')

async function writeSnippets(): Promise<readonly string[]> {
  const names: string[] = []
  for (const document of documents) {
    const text = await readFile(join(root, document), 'utf8')
    for (const [, code = ''] of text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)) {
      const name = `${basename(document, '.md').toLowerCase()}-${names.length + 1}.ts`
      // Each is a separate module; its declarations hide the given names.
      await writeFile(join(directory, name), `export {}\n${code}`)
      names.push(name)
    }
  }
  return names
}

async function compile(files: readonly string[]): Promise<string> {
  const compilerOptions = {
    noEmit: true,
    rootDir: root,
    composite: false,
    incremental: false,
    types: ['node'],
    lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable'],
    // Packages of a host that this one does not depend on.
    paths: {
      '@hono/node-server': [join(root, 'packages/service/node_modules/@hono/node-server/dist/index.d.mts')],
      '@outlay/harness': [join(root, 'packages/harness/dist/index.d.ts')],
      '@outlay/console': [join(root, 'packages/console/dist/index.d.ts')],
    },
  }
  const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, files }
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules/.bin/tsc')
  return promisify(execFile)(tsc, ['-p', directory], { shell: process.platform === 'win32' }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  )
}

it('the code in the documents compiles', async () => {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { recursive: true })
  const snippets = await writeSnippets()
  expect(snippets.length).toBeGreaterThan(documents.length)
  const names = join(import.meta.dirname, 'snippet-names.ts')
  expect(await compile([...snippets, names])).toBe('')
  await writeFile(join(directory, 'wrong.ts'), 'export {}\nawait engine.transfers.enqueue(db, request)\n')
  expect(await compile(['wrong.ts', names])).toContain('wrong.ts(2,')
})
