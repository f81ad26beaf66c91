/**
 * Builds the package in the working folder for hosts that `require` it: modules and declarations in `dist/cjs`, made of the ES modules
 * that the compiler wrote. Libraries without CommonJS of their own are bundled, with their licenses, since Jest cannot require ES modules.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import type { Manifest } from './packages.ts'

const target = 'dist/cjs'

/** Libraries that are ES modules only. What they depend on is bundled with them. */
const bundled = ['pg-boss', '@noble/hashes', '@scure/base', 'commander']

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const external = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(
  (name) => !bundled.includes(name),
)
const isExternal = (id: string): boolean =>
  id.startsWith('node:') || external.some((name) => id === name || id.startsWith(`${name}/`))

const entries = Object.values(manifest.exports).flatMap((one) =>
  typeof one === 'object' && 'import' in one ? [one.import.default] : [],
)
const input = Object.fromEntries(entries.map((path) => [path.replace(/^\.\/dist\/|\.js$/g, ''), path]))

rmSync(target, { recursive: true, force: true })
/** Jest has no `import()` in CommonJS. That of a file that a host names stays, since it may be an ES module. */
const requireLibraries = {
  name: 'require-libraries',
  renderChunk: (code: string) =>
    code.replaceAll(/\bimport\("([^"]+)"\)/g, (call, id: string) =>
      isExternal(id) ? `Promise.resolve().then(() => require("${id}"))` : call,
    ),
}

const bundle = await rolldown({
  input,
  external: isExternal,
  platform: 'node',
  logLevel: 'warn',
  plugins: [requireLibraries],
})
const { output } = await bundle.write({
  dir: target,
  format: 'cjs',
  exports: 'named',
  chunkFileNames: 'shared/[name].js',
})
await bundle.close()

writeFileSync(join(target, 'package.json'), '{ "type": "commonjs" }\n')
for (const path of globSync('dist/**/*.d.ts', { exclude: [`${target}/**`] })) {
  const copy = join(target, relative('dist', path))
  mkdirSync(dirname(copy), { recursive: true })
  writeFileSync(copy, readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL=.*/, ''))
}

const libraries = new Set(output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds.map(libraryOf) : [])))
const licenses = [...libraries].flatMap((folder) => (folder === undefined ? [] : [describeLicense(folder)])).sort()
if (licenses.length > 0)
  writeFileSync(join(target, 'LICENSES.md'), `# Libraries in these files\n\n${licenses.join('\n')}`)

/** The folder of the library that a module is of; undefined for the package's own. */
function libraryOf(moduleId: string): string | undefined {
  return /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(moduleId)?.[1]
}

function describeLicense(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const [file] = globSync('{LICENSE,LICENCE,license}{,.md,.txt}', { cwd: folder }).sort()
  if (file === undefined && license === undefined) throw new Error(`${resolve(folder)} states no license.`)
  const text = file === undefined ? license : readFileSync(join(folder, file), 'utf8')
  return `## ${name} ${version}\n\n${text}\n`
}
