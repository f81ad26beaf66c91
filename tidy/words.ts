import type { File, Finding } from './repository.ts'
import { parse, walk } from './syntax.ts'

/** A forbidden pattern, and why. */
interface Rule {
  readonly pattern: RegExp
  readonly why: string
  /** The files that it applies to; all of them when absent. */
  readonly files?: RegExp
}

const code = /\.m?[jt]s$/

/** The forbidden patterns. The search skips this file and its test. */
const rules: readonly Rule[] = [
  { pattern: /\b(TODO|FIXME|XXX)\b/, why: 'finish it, or say plainly in the documentation what is left out' },
  { pattern: /\b(it|test|describe|bench)\.(only|skip|todo)\b/, why: 'every test runs', files: code },
  { pattern: /\bas any\b/, why: 'name the type, or use unknown', files: code },
  { pattern: /@ts-(ignore|nocheck)/, why: 'fix the types', files: code },
  { pattern: /(?<![\w.}/-])\/(home|Users|root|work|mnt)\/\w/, why: 'no path of one machine' },
  {
    pattern: /\/\/registry\.[a-z]+/,
    why: 'no host of one registry',
    files: /(^|\/)(\.npmrc|.*\.(json|ya?ml|m?[jt]s))$/,
  },
  {
    pattern: /(['"`])\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|DROP) /,
    why: 'write SQL in lower case',
    files: code,
  },
]

/** Finds forbidden words. */
export const findBadWords = (file: File): readonly Finding[] => {
  if (/^tidy\/words\.(test\.)?ts$/.test(file.path)) return []
  const matching = rules.filter((rule) => rule.files?.test(file.path) ?? true)
  return file.text.split('\n').flatMap((line, index) =>
    matching.flatMap(({ pattern, why }) => {
      const word = pattern.exec(line)?.[0]
      return word === undefined ? [] : [`${file.path}:${index + 1}: "${word}": ${why}`]
    }),
  )
}

/** Finds folders and files whose name says nothing about their content. */
export const findEmptyNames = (file: File): readonly Finding[] => {
  const word = file.path.split(/[/.]/).find((part) => /^(utils?|helpers?|shared|common|misc)$/.test(part))
  return word === undefined ? [] : [`${file.path}: "${word}" is no noun of this house`]
}

/** Words that readers do not know, and what docs/glossary.md has for them. A name is split at its underscores and capitals. */
const retired: ReadonlyMap<string, string> = new Map([
  ...['look', 'looks', 'looked', 'looking', 'sight', 'sights', 'sighting', 'sightings', 'sighted'].map(
    (word) => [word, 'poll, read, check or observation'] as const,
  ),
  ...['pace', 'paces', 'paced', 'pacer', 'pacing'].map((word) => [word, 'throttle or rate'] as const),
  ...['tell', 'tells', 'told', 'telling', 'teller', 'tellers', 'hear', 'hears', 'heard', 'hearing'].map(
    (word) => [word, 'notify, deliver, report or receive'] as const,
  ),
  ...['mend', 'mends', 'mended', 'unmended'].map((word) => [word, 'retry or fix'] as const),
  ...['park', 'parks', 'parked', 'parking'].map((word) => [word, 'defer'] as const),
  ...['meet', 'meets', 'meeting'].map((word) => [word, 'resolve, reach or intercept'] as const),
  ...['lane', 'lanes', 'surroundings'].map((word) => [word, 'environment, context or budget'] as const),
  ...['hurry', 'whereabouts', 'mailroom', 'strangeness'].map((word) => [word, 'the term of the glossary'] as const),
])

/** Names that others have given. */
const foreign: ReadonlySet<string> = new Set(['followsymlinks'])

const findRetired = (name: string): string | undefined =>
  foreign.has(name.toLowerCase())
    ? undefined
    : name
        .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
        .toLowerCase()
        .split(/[^a-z]+/)
        .find((word) => retired.has(word))

/** Retired words that plain English needs in prose. */
const ordinary = /^(hearing|pacing|meet(s|ing)?)$/

/** What is no use of a retired word: `look up` and `looks like` have no better words, and streets have names. */
const idioms = /\blook(s|ed|ing)? (up|like)\b|\bPark\b/g

const inProse = new RegExp(`\\b(${[...retired.keys()].filter((word) => !ordinary.test(word)).join('|')})\\b`, 'i')

/** Finds retired words in documents, comments and texts. The glossary names them, and the changelog in its table of old names. */
export const findRetiredProse = (file: File): readonly Finding[] => {
  if (!/\.(md|m?ts|sql|ya?ml)$/.test(file.path) || /^(tidy\/words\.(test\.)?ts|docs\/glossary\.md)$/.test(file.path))
    return []
  return file.text.split('\n').flatMap((line, index) => {
    if (file.path === 'CHANGELOG.md' && line.startsWith('| ')) return []
    const word = inProse.exec(line.replace(idioms, ''))?.[1]
    if (word === undefined) return []
    return [`${file.path}:${index + 1}: write ${retired.get(word.toLowerCase())} instead of "${word}"`]
  })
}

const report = (file: File, line: number, name: string): readonly Finding[] => {
  const word = findRetired(name)
  return word === undefined ? [] : [`${file.path}:${line}: "${name}": write ${retired.get(word)} instead of "${word}"`]
}

/** Finds identifiers of TypeScript and SQL, and files, that are named by a retired word. */
export const findRetiredNames = (file: File): readonly Finding[] => {
  const found = report(file, 0, file.path.split('/').at(-1) ?? '')
  if (/\.m?ts$/.test(file.path)) {
    const syntax = parse(file)
    const names: Finding[] = []
    walk(syntax.program, (node) => {
      if (node.type === 'Identifier' || node.type === 'PrivateIdentifier')
        names.push(...report(file, syntax.lineAt(node.start), node.name))
    })
    return [...found, ...new Set(names)]
  }
  if (!file.path.endsWith('.sql')) return found
  const lines = file.text.split('\n').flatMap((line, index) => {
    const code = line.replace(/--.*/, '').replace(/'(?:[^']|'')*'/g, '')
    return (code.match(/\w+/g) ?? []).flatMap((name) => report(file, index + 1, name))
  })
  return [...found, ...lines]
}
