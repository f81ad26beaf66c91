import { writeCatalog } from './catalog.ts'
import { writeCommands } from './commands.ts'
import { writeErrors } from './errors.ts'
import { writeEvents } from './events.ts'
import { writeConfiguration, writePackages } from './exports.ts'
import { type Page, paragraphs } from './markdown.ts'
import { writeResources } from './operations.ts'
import { diagrams, writeEngineStages, writeStatuses } from './states.ts'
import { writeThresholds } from './thresholds.ts'

const note = '<!-- Written by `npx -y pnpm@12 reference` from the code; change it there. -->'

/** Writes every page of the reference, by its path in the repository. */
export function writeReference(): ReadonlyMap<string, string> {
  const chapters: readonly (readonly [string, readonly Page[]])[] = [
    ['The engine', [writeEngineStages(), writeEvents(), writeErrors(), writeConfiguration(), writeCommands()]],
    ['The domain', [writeCatalog(), writeStatuses()]],
    ['The HTTP API', writeResources()],
    ['The packages', writePackages()],
  ]
  const index = chapters.map(([title, pages]) => {
    const lines = pages.map(({ name, title: own, summary }) => `- [${own}](${name}.md): ${summary}`)
    return paragraphs(`## ${title}`, lines.join('\n'))
  })
  const pages = chapters.flatMap(([, some]) => some)
  return new Map([
    ['docs/reference/README.md', writeFile('Reference', paragraphs(...index))],
    ...pages.map(({ name, title, body }) => [`docs/reference/${name}.md`, writeFile(title, body)] as const),
  ])
}

const writeFile = (title: string, body: string): string => `${paragraphs(note, `# ${title}`, body)}\n`

const place = /(<!-- generated-begin: ([\w-]+) -->\n)[\s\S]*?(<!-- generated-end -->)/g

/** Documents with such places. */
export const partlyGenerated = ['ARCHITECTURE.md', 'docs/guides/operating.md']

/** Fills the marked places of a document that is otherwise written by hand. */
export function fillGenerated(text: string): string {
  return text.replace(place, (_, begin: string, name: string, end: string) => {
    const part = name === 'doctor-thresholds' ? writeThresholds() : diagrams[name]
    if (part === undefined) throw new Error(`Nothing is generated as ${name}.`)
    return `${begin}\n${part}\n\n${end}`
  })
}
