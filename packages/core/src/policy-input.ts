import { type Issue, OutlayError } from './error.ts'
import { isStorable } from './input.ts'

/** Most entries of a list in a policy. */
export const maxListed = 1_000

const refuse = (field: string, message: string): never => {
  throw OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
}

/** Reads several members. What is broken in any of them is refused at once, so that a form shows it beside each. */
function readEach<T extends object>(reads: { readonly [Name in keyof T]: () => T[Name] }): T {
  const issues: Issue[] = []
  const read: Partial<T> = {}
  for (const name of Object.keys(reads) as (keyof T)[]) {
    try {
      read[name] = reads[name]()
    } catch (error) {
      if (!OutlayError.is(error)) throw error
      issues.push(...error.issues)
    }
  }
  const [first, ...others] = issues
  if (first !== undefined) throw OutlayError.fromIssues([first, ...others])
  return read as T
}

const readAll = <V, T>(values: readonly V[], read: (one: V, at: number) => T): readonly T[] =>
  Object.values(readEach<Record<number, T>>(Array.from(values, (one, at) => () => read(one, at))))

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * Reads an object that has no members but these, and none that is undefined: one of a variable that is not set would widen the policy. Those that it has
 * are read where it has others, too.
 */
function readMembers<T>(
  value: unknown,
  names: readonly string[],
  field: string,
  read: (members: Readonly<Record<string, unknown>>) => T,
): T {
  const there = `write an object of ${names.join(', ')}`
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !isPlain(value))
    return refuse(field, `must be a plain object; ${there}`)
  const members = value as Readonly<Record<string, unknown>>
  return readEach<{ readonly known: unknown; readonly members: T }>({
    known: () =>
      readAll(Object.entries(members), ([name, one]) => {
        if (!names.includes(name)) refuse(`${field}.${name}`, `is not known; ${there}`)
        if (one === undefined) refuse(`${field}.${name}`, 'is undefined; give it a value, or leave it out')
      }),
    members: () => read(members),
  }).members
}

/** Reads several members of an object. One that is there and says nothing, as null, is refused: without it the rule would be about everything. */
const readGiven = <T extends object>(
  given: Readonly<Record<string, unknown>>,
  field: string,
  reads: { readonly [Name in keyof T & string]: () => T[Name] },
): T => {
  const strict = Object.entries<() => unknown>(reads).map(([name, read]) => {
    const readOne = () => {
      const one = read()
      const isForgotten = one === undefined && given[name] !== undefined
      return isForgotten ? refuse(`${field}.${name}`, 'is empty; leave it out for any') : one
    }
    return [name, readOne] as const
  })
  return readEach<T>(Object.fromEntries(strict) as { readonly [Name in keyof T]: () => T[Name] })
}

const readText = (value: unknown, field: string): string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= 255 && isStorable(value)
    ? value
    : refuse(field, 'must be well-formed text of 1 to 255 characters')

/** As requests give an id: another one would never match. */
const readId = (value: unknown, field: string): string =>
  typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)
    ? value
    : refuse(field, 'must be an id as requests give it: 1 to 255 visible ASCII characters, without spaces')

const givenName = (value: unknown): unknown => (value as { readonly name?: unknown } | null | undefined)?.name

/** Reads a list whose entries have a name each, and no two the same. */
function readNamed<T>(
  values: readonly unknown[],
  read: (one: unknown, at: number) => T,
  refuseAgain: (at: number) => never,
): readonly T[] {
  const names = Array.from(values, givenName)
  return readAll(values, (one, at) => {
    const isAgain = names[at] !== undefined && names.indexOf(names[at]) < at
    return readEach<{ readonly entry: T; readonly isNew: boolean }>({
      entry: () => read(one, at),
      isNew: () => !isAgain || refuseAgain(at),
    }).entry
  })
}

function readList<T>(value: unknown, field: string, most: number, read: (one: unknown, field: string) => T) {
  if (value === undefined) return undefined
  // An empty list would match nothing: a rule that is never applied.
  if (!Array.isArray(value) || value.length === 0 || value.length > most)
    return refuse(field, `must be a list of 1 to ${most}; leave it out for any`)
  // A hole in the list is read, and refused, too.
  return readAll(value, (one, at) => read(one, `${field}.${at}`))
}

const wordOf =
  <T extends string>(words: readonly T[]) =>
  (value: unknown, field: string): T =>
    words.find((word) => word === value) ?? refuse(field, `must be one of ${words.join(', ')}`)

/** Canonical names: a policy that names a currency otherwise than requests do would never apply. */
const nameOf =
  (find: (name: string) => { readonly name: string } | undefined, known: readonly { readonly name: string }[]) =>
  (value: unknown, field: string): string =>
    (typeof value === 'string' ? find(value)?.name : undefined) ??
    refuse(field, `must be one of ${known.map(({ name }) => name).join(', ')}`)

/** Reads what a policy has, member by member; each throws `invalid_request` with the field, and says what to write. */
export const PolicyInput = {
  refuse,
  readEach,
  readGiven,
  readAll,
  readNamed,
  readMembers,
  readText,
  readId,
  readList,
  wordOf,
  nameOf,
} as const
