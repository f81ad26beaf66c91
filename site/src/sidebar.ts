import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { addressOf, pageOf } from './pages.ts'
import { root } from './repository.ts'

/** A line of the sidebar, or a group of lines. */
export interface SidebarItem {
  readonly text: string
  readonly link?: string
  readonly items?: SidebarItem[]
  readonly collapsed?: boolean
}

const linkTo = (path: string): string => addressOf(pageOf(path) ?? '')

/**
 * The groups of a folder, as its README lists them: a heading, or a paragraph that ends with a colon, and then a list of links.
 * So the order of the pages is written once, where readers of the repository see it too.
 */
export function readGroups(folder: string, text: string): readonly SidebarItem[] {
  const groups: { text: string; items: SidebarItem[] }[] = []
  let title = ''
  for (const line of text.split('\n')) {
    const heading = /^## (.+)$/.exec(line)?.[1] ?? /^([A-Z].*):$/.exec(line)?.[1]
    if (heading !== undefined) title = heading
    const [, label, file] = /^(?:- |\d+\. )\[([^\]]+)\]\(([^)/]+\.md)\)/.exec(line) ?? []
    if (label === undefined || file === undefined) continue
    if (groups.at(-1)?.text !== title) groups.push({ text: title, items: [] })
    groups.at(-1)?.items.push({ text: label.replaceAll('`', ''), link: linkTo(posix.join(folder, file)) })
  }
  return groups
}

function readFolder(folder: string): readonly SidebarItem[] {
  return readGroups(folder, readFileSync(join(root, folder, 'README.md'), 'utf8'))
}

const page = (text: string, path: string): SidebarItem => ({ text, link: linkTo(path) })

/** The number that a decision's file begins with. */
const numberOf = ({ link }: SidebarItem): number => Number(/\/(\d+)-/.exec(link ?? '')?.[1])

/** The sidebar of the whole site, by the beginning of an address. */
export function writeSidebar(): Record<string, SidebarItem[]> {
  const project: SidebarItem = {
    text: 'The project',
    items: [
      page('Architecture', 'ARCHITECTURE.md'),
      page('Glossary', 'docs/glossary.md'),
      page('Reliability', 'docs/reliability.md'),
      page('The search for counterexamples', 'docs/reliability/searching.md'),
      page('Bugs that were found', 'docs/reliability/bugs.md'),
      page('Performance', 'docs/performance.md'),
      page('Coverage of the specification', 'docs/spec-coverage.md'),
      page('Security', 'SECURITY.md'),
      page('Changelog', 'CHANGELOG.md'),
      page('Contributing', 'CONTRIBUTING.md'),
    ],
  }
  const decisions = readFolder('docs/decisions').flatMap(({ items }) => items ?? [])
  const numbered = decisions.map((item) => ({ ...item, text: `${numberOf(item)}. ${item.text}` }))
  return {
    '/reference/': [page('Reference', 'docs/reference/README.md'), ...readFolder('docs/reference')],
    '/decisions/': [{ text: 'Decisions', link: '/decisions/', items: numbered }],
    '/': [
      { text: 'Guides', items: [page('All guides', 'docs/guides/README.md'), page('Examples', 'examples/README.md')] },
      ...readFolder('docs/guides'),
      project,
    ],
  }
}
