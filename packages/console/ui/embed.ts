/** Builds the pages, and writes them into a module of the package, so that bundlers of hosts find them. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, gzipSync } from 'node:zlib'
import { build } from 'vite'

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

const root = join(import.meta.dirname, '..')
const built = await build({ configFile: join(import.meta.dirname, 'vite.config.ts') })
const bundles = Array.isArray(built) ? built : [built]
const output = bundles.flatMap((one) => ('output' in one ? one.output : []))

const entries = output.flatMap((one) => {
  const { fileName } = one
  const content = one.type === 'chunk' ? one.code : one.source
  if (fileName === 'licenses.md') {
    mkdirSync(join(root, 'dist'), { recursive: true })
    writeFileSync(join(root, 'dist/licenses-of-pages.md'), content)
    return []
  }
  const type = types[fileName.split('.').at(-1) ?? '']
  if (type === undefined) throw new Error(`The pages have a file of an unknown kind: ${fileName}.`)
  const gzip = gzipSync(content, { level: constants.Z_BEST_COMPRESSION }).toString('base64')
  return [`  ${JSON.stringify(fileName)}: { type: ${JSON.stringify(type)}, gzip: '${gzip}' },`]
})

mkdirSync(join(root, 'src/generated'), { recursive: true })
writeFileSync(
  join(root, 'src/generated/pages.ts'),
  [
    '/** Files of the pages by their names, with their media types; each is compressed, and in base 64. */',
    'export const files: Readonly<Record<string, { readonly type: string; readonly gzip: string }>> = {',
    ...entries.toSorted(),
    '}',
    '',
  ].join('\n'),
)
