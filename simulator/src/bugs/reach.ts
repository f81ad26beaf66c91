import type { Bug } from './bug.ts'

type Members = Readonly<Record<string, unknown>>

/** What a mistake may be planted in, as `Bug` has it. */
const places = ['gateway', 'backend', 'handlers', 'engine'] as const

/** A mistake that changes nothing: it notes which functions are called, and which of them the given mistakes change. */
export function createReach(bugs: readonly Bug[]) {
  const called = new Set<string>()
  const changed = new Map<string, Set<string>>()
  const note = (place: string, real: Members, ...rest: readonly unknown[]): Members => {
    for (const bug of bugs) {
      const plant = bug[place as keyof Bug] as ((real: Members, ...rest: readonly unknown[]) => Members) | undefined
      if (plant === undefined) continue
      const known = changed.get(bug.name) ?? new Set()
      changed.set(bug.name, known)
      for (const name of findDifferences(place, real, plant(real, ...rest))) known.add(name)
    }
    return watch(place, real, called)
  }
  const bug = { name: 'none', breaks: [], ...Object.fromEntries(places.map((one) => [one, note.bind(null, one)])) }
  return {
    bug: bug as unknown as Bug,
    /** The functions that a mistake changes and that nobody has called. */
    findUnreached: () =>
      [...changed].flatMap(([name, members]) =>
        [...members].filter((one) => !called.has(one)).map((one) => `${name} changes ${one}`),
      ),
    /** The mistakes that change a function. */
    names: () => [...changed.keys()],
  }
}

const isGroup = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

function findDifferences(place: string, real: Members, planted: Members): readonly string[] {
  return Object.entries(real).flatMap(([name, value]) => {
    const other = planted[name]
    if (other === value) return []
    if (isGroup(value) && isGroup(other)) return findDifferences(`${place}.${name}`, value, other)
    return typeof value === 'function' ? [`${place}.${name}`] : []
  })
}

function watch(place: string, real: Members, called: Set<string>): Members {
  return Object.fromEntries(
    Object.entries(real).map(([name, value]) => {
      const path = `${place}.${name}`
      if (isGroup(value)) return [name, watch(path, value, called)]
      if (typeof value !== 'function') return [name, value]
      const call = (...values: readonly unknown[]): unknown => {
        called.add(path)
        return value.apply(real, values)
      }
      return [name, call]
    }),
  )
}
