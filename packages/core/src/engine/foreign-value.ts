/** An invalid member. The error names only its path. */
export class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood'
  readonly field: string
  /** The rule for the member, as in `must be …`. */
  readonly rule: string

  constructor(field: string, rule: string) {
    super(`${field === '' ? 'the answer' : field} ${rule}`)
    this.field = field
    this.rule = rule
  }
}

/** Longest id of a transfer or an address at the other side. */
export const longestId = 255

/** Longest text that is kept of an answer; the rest is cut off. */
export const longestText = 2_000

/** Control characters and halves of surrogate pairs: no id has them, and Postgres refuses some of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const unusual = /[\u0000-\u001f\u007f-\u009f\p{Surrogate}]/u

/** True for a value that can be an id at the other side. */
export const isForeignId = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longestId && !unusual.test(value)

/** Members of a value from foreign code. Each is read once, since a getter may change its result or throw. */
export interface ForeignValue {
  readonly path: string
  get(name: string): unknown
  /** @throws NotUnderstood */
  fail(name: string, rule: string): never
}

/**
 * Opens a value from foreign code.
 * @throws NotUnderstood when it has no members
 */
export function openForeign(value: unknown, path = ''): ForeignValue {
  if (typeof value !== 'object' || value === null) throw new NotUnderstood(path, 'must be an object')
  const pathOf = (name: string) => (path === '' ? name : `${path}.${name}`)
  return {
    path,
    get(name) {
      try {
        return (value as Readonly<Record<string, unknown>>)[name]
      } catch {
        throw new NotUnderstood(pathOf(name), 'must be readable')
      }
    },
    fail(name, rule) {
      throw new NotUnderstood(pathOf(name), rule)
    },
  }
}

/** Reads an id at the other side. */
export function readId(from: ForeignValue, name: string): string {
  const id = from.get(name)
  return isForeignId(id) ? id : from.fail(name, `must be 1 to ${longestId} characters without control characters`)
}

/** Reads a text, cut to the longest that is kept; `undefined` when absent. */
export function readText(from: ForeignValue, name: string): string | undefined {
  const text = from.get(name)
  if (text === undefined) return undefined
  return typeof text === 'string' ? text.slice(0, longestText) : from.fail(name, 'must be a text')
}

/** Reads a required text. */
export function requireText(from: ForeignValue, name: string): string {
  return readText(from, name) ?? from.fail(name, 'must be a text')
}

/** Reads a whole number in a range; `undefined` when absent. */
export function readWhole(from: ForeignValue, name: string, min: number, max: number): number | undefined {
  const value = from.get(name)
  if (value === undefined) return undefined
  const isWhole = typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
  return isWhole ? value : from.fail(name, `must be a whole number from ${min} to ${max}`)
}

/** Reads a number from 0 on; `undefined` when absent. */
export function readDuration(from: ForeignValue, name: string): number | undefined {
  const value = from.get(name)
  if (value === undefined) return undefined
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
    ? value
    : from.fail(name, 'must be a number of milliseconds from 0 on')
}
