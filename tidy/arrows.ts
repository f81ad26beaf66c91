import { posix } from 'node:path'
import { type File, type Finding, isPublished, isTest, isTypeScript } from './repository.ts'
import { parse } from './syntax.ts'

/** The rings, and which of them each may import. */
export const rings: Readonly<Record<string, readonly string[]>> = {
  core: [],
  'http-client': ['core'],
  'adapters-pg': ['core'],
  testing: ['core'],
  service: ['core', 'adapters-pg'],
  cli: ['core', 'adapters-pg'],
  harness: ['core', 'http-client', 'adapters-pg', 'service', 'testing'],
  opentelemetry: ['core'],
  nestjs: ['core'],
  console: ['core', 'adapters-pg', 'cli'],
}

/** Finds imports that cross the rings the wrong way, or that reach into another package. */
export const findWrongArrows = (file: File): readonly Finding[] => {
  const ring = /^packages\/([^/]+)\/src\//.exec(file.path)?.[1]
  if (ring === undefined || !isTypeScript(file)) return []
  const allowed = [...(rings[ring] ?? []), ...(isTest(file) ? ['testing'] : [])]
  return parse(file).specifiers.flatMap((specifier) => {
    if (specifier.startsWith('.')) {
      const target = posix.join(posix.dirname(file.path), specifier)
      const inside = target.startsWith(`packages/${ring}/`)
      return inside ? [] : [`${file.path}: ${specifier} leaves the package; import it by its name`]
    }
    const other = /^@outlay\/([^/]+)/.exec(specifier)?.[1]
    if (other === undefined || allowed.includes(other)) return []
    return [`${file.path}: ${ring} may not import ${specifier}`]
  })
}

/** Reads the nouns of core, in order, from the first column of the table under the heading "Glossary". */
export const readGlossary = (architecture: string): readonly string[] => {
  const section = /^## Glossary$([\s\S]*?)^## /m.exec(architecture)?.[1] ?? ''
  return [...section.matchAll(/^\| *`([a-z0-9-]+)` *\|/gm)].flatMap((match) => match[1] ?? [])
}

/** Modules of core that only list what others export. */
const isEntry = (name: string): boolean => name === 'index' || name === 'adapter'

/** Finds imports inside core that point the wrong way: engine → ports → nouns, and each noun only to those above it. */
export const findWrongCoreArrows = (file: File, glossary: readonly string[]): readonly Finding[] => {
  const name = /^packages\/core\/src\/(.+)\.ts$/.exec(file.path)?.[1]
  if (name === undefined || !isPublished(file) || isEntry(name)) return []
  const rank = rankIn(glossary)
  const from = rank(name)
  if (from === undefined) return [`${file.path}: ${name} is missing from the glossary in ARCHITECTURE.md`]
  return localImports(file).flatMap((target) => {
    const to = rank(target)
    if (to !== undefined && (to < from || (to === from && name.includes('/')))) return []
    return [`${file.path}: ${name} may not import ${target}, which stands below it`]
  })
}

/** Finds one cycle of relative imports among files of one package; empty when there is none. */
export const findCycle = (files: readonly File[]): readonly string[] =>
  findCycleIn(new Map(files.map((file) => [file.path, importsOf(file)])))

/**
 * Finds one cycle among the rooms of a package, the folders right below its sources; empty when there is none. Files
 * beside the rooms and tests may import any room.
 */
export const findRoomCycle = (files: readonly File[], root: string): readonly string[] => {
  const roomOf = (path: string) => (path.startsWith(root) ? /^([^/]+)\//.exec(path.slice(root.length))?.[1] : undefined)
  const rooms = new Map<string, string[]>()
  for (const file of files) {
    const room = roomOf(file.path)
    if (room === undefined || isTest(file)) continue
    const others = importsOf(file).flatMap((path) => roomOf(path) ?? [])
    rooms.set(room, [...(rooms.get(room) ?? []), ...others.filter((other) => other !== room)])
  }
  return findCycleIn(rooms)
}

const importsOf = (file: File): readonly string[] =>
  parse(file)
    .specifiers.filter((each) => each.startsWith('.'))
    .map((specifier) => posix.join(posix.dirname(file.path), specifier))

function findCycleIn(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>()
  const visit = (node: string, trail: readonly string[]): readonly string[] => {
    if (trail.includes(node)) return [...trail.slice(trail.indexOf(node)), node]
    if (done.has(node)) return []
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...trail, node])
      if (cycle.length > 0) return cycle
    }
    done.add(node)
    return []
  }
  for (const node of graph.keys()) {
    const cycle = visit(node, [])
    if (cycle.length > 0) return cycle
  }
  return []
}

const localImports = (file: File): readonly string[] =>
  importsOf(file).map((path) => path.replace(/^packages\/core\/src\//, '').replace(/\.ts$/, ''))

/** Nouns rank by their place in the glossary, ports below all of them, the engine below the ports. */
const rankIn =
  (glossary: readonly string[]) =>
  (name: string): number | undefined => {
    if (name.startsWith('engine/')) return glossary.length + 1
    if (name.startsWith('ports/')) return glossary.length
    const place = glossary.indexOf(name)
    return place < 0 ? undefined : place
  }
