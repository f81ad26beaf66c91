import { listPackages, type Manifest } from '../packages.ts'
import { type Declaration, firstSentence, proseOf, readExports } from './declarations.ts'
import { code, type Page, paragraphs, table } from './markdown.ts'

/** Source of an entry point, from the declarations that a manifest names. */
const sourceOf = (folder: string, types: string): string =>
  `${folder}/${types.replace(/^\.\/dist\//, 'src/').replace(/\.d\.ts$/, '.ts')}`.replaceAll('\\', '/')

/** What each entry point of a package exports, by its name for `import`. */
function entriesOf(folder: string, manifest: Manifest): readonly (readonly [string, readonly Declaration[]])[] {
  return Object.entries(manifest.exports).flatMap(([path, target]) =>
    typeof target === 'string'
      ? []
      : [
          [
            `${manifest.name}${path.slice(1)}`,
            readExports(sourceOf(folder, 'import' in target ? target.import.types : target.types)),
          ] as const,
        ],
  )
}

/** One page for each package: its exports, with the first sentence about each. */
export function writePackages(): readonly Page[] {
  return listPackages().map(({ folder, manifest }) => ({
    name: `package-${manifest.name.replace(/.*\//, '')}`,
    title: manifest.name,
    summary: manifest.description.replace(/\.$/, ''),
    body: paragraphs(
      manifest.description,
      ...entriesOf(folder, manifest).map(([name, declarations]) => writeEntry(name, declarations)),
    ),
  }))
}

function writeEntry(name: string, declarations: readonly Declaration[]): string {
  const sorted = [...declarations].sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1))
  return paragraphs(
    `## ${code(name)}`,
    table(
      ['export', 'kind', 'description'],
      sorted.map(({ name: own, kind, doc }) => [code(own), kind, firstSentence(doc)]),
    ),
    ...sorted.flatMap((one) => (one.members.some(({ isMethod }) => isMethod) ? [writeMethods(one)] : [])),
  )
}

function writeMethods({ name, members }: Declaration): string {
  const rows = members.map((one) => [
    code(`${one.name}${one.isMethod ? '()' : ''}`),
    firstSentence(one.doc) || code(one.type),
  ])
  return paragraphs(`### ${name}`, table(['member', 'description'], rows))
}

/** Every interface of options that a package exports, with defaults. */
export function writeConfiguration(): Page {
  const sections = listPackages().flatMap(({ folder, manifest }) =>
    entriesOf(folder, manifest).flatMap(([entry, declarations]) =>
      declarations
        .filter(({ name, kind }) => kind === 'interface' && name.endsWith('Options'))
        .map((one) => writeOptions(entry, one)),
    ),
  )
  return {
    name: 'configuration',
    title: 'Configuration',
    summary: 'every option with its default',
    body: paragraphs(
      'The packages read no environment, except for `@outlay/testing` (`OUTLAY_TEST_DATABASE_URL`, `OUTLAY_POSTGRES`, `OUTLAY_POSTGRES_IMAGE`, `OUTLAY_POSTGRES_VERSION`, `OUTLAY_PGBOUNCER`, and `OUTLAY_CRASH_POINT` where a program asks for crash points), the command `outlay` (`DATABASE_URL`) and the command `outlay-sandbox` (`DATABASE_URL`, `PORT`, `HOST`, `SEED`).',
      ...sections,
    ),
  }
}

function writeOptions(entry: string, { name, doc, bases, members }: Declaration): string {
  const rows = members.map((one) => [
    code(`${one.name}${one.isMethod ? '()' : ''}`),
    one.type.startsWith('{') ? 'object' : code(one.type),
    one.isOptional ? 'no' : 'yes',
    proseOf(one.doc),
  ])
  return paragraphs(
    `## ${name}`,
    [`From ${code(entry)}. ${proseOf(doc)}`, ...bases.map((base) => `Accepts the options of ${code(base)}, too.`)].join(
      ' ',
    ),
    table(['option', 'type', 'required', 'what it does'], rows),
  )
}
