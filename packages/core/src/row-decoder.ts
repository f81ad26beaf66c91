type Row = Readonly<Record<string, unknown>>

/** How a member of a result is read from one column of a row. */
export interface Column<T> {
  /** What the column has, for the error about one that has something else. */
  readonly expected: string
  /** The member's value; undefined for a value of another type. Neither null nor a missing column gets here. */
  readonly read: (value: unknown) => unknown
  /** Default: the member's name in snake case. */
  readonly name?: string | undefined
  /** What the member is where the column is null; without it, null is refused. */
  readonly whenNull?: { readonly value: T } | undefined
  /** True when a statement may leave the column out, which then counts as null. */
  readonly mayBeMissing?: boolean | undefined
  /** True when the result has the member only where the column has a value. */
  readonly isOptional?: boolean | undefined
}

/** A column whose member is left out where it is null or missing. */
type OptionalColumn<T> = Column<T> & { readonly isOptional: true }

type Columns = Readonly<Record<string, Column<unknown>>>
type Value<C> = C extends Column<infer T> ? T : never
type OptionalMember<S extends Columns> = { [M in keyof S]: S[M] extends OptionalColumn<unknown> ? M : never }[keyof S]

/** The result of a decoder for these columns. */
export type Decoded<S extends Columns> = { readonly [M in Exclude<keyof S, OptionalMember<S>>]: Value<S[M]> } & {
  readonly [M in OptionalMember<S>]?: Value<S[M]>
}

/** Reads a row. */
export interface RowDecoder<T> {
  (row: Row): T
  /**
   * The columns that it reads, without those that may be missing: for the list of a statement. With `*` a prepared statement fails
   * once a migration has added a column.
   */
  readonly columns: readonly string[]
}

const column = <T>(expected: string, read: (value: unknown) => T | undefined): Column<T> => ({ expected, read })
const readText = (value: unknown) => (typeof value === 'string' ? value : undefined)
const readTexts = (value: unknown) =>
  Array.isArray(value) && value.every((one) => typeof one === 'string') ? (value as readonly string[]) : undefined
const readDate = (value: unknown) => (value instanceof Date && !Number.isNaN(value.getTime()) ? value : undefined)
const readNumber = (value: unknown) => (Number.isFinite(value) ? (value as number) : undefined)

/** Drivers give bigint and numeric columns as text, a bigint or a number, as the host has configured them. */
function readAnyNumber(value: unknown): number | undefined {
  if (typeof value === 'bigint') return readAnyNumber(Number(value))
  if (typeof value === 'string') return value.trim() === '' ? undefined : readAnyNumber(Number(value))
  const number = readNumber(value)
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? undefined : number
}

/** Kinds of columns for {@link rowDecoder}. A column that may be null, missing or of another name says so by a wrapper. */
export const Column = {
  text: column('text', readText),
  /** Text of a closed set. It is not compared with the set, since later code may have written what this code does not know. */
  word: <T extends string>(): Column<T> => column('text', (value) => readText(value) as T | undefined),
  integer: column('an integer', (value) => (Number.isSafeInteger(value) ? (value as number) : undefined)),
  number: column('a number', readNumber),
  /** A number from a column of any numeric type. */
  anyNumber: column('a number', readAnyNumber),
  boolean: column('a boolean', (value) => (typeof value === 'boolean' ? value : undefined)),
  date: column('a Date', readDate),
  /** A Date, which becomes ISO 8601 text in UTC. */
  isoTime: column('a Date', (value) => readDate(value)?.toISOString()),
  texts: column('an array of text', readTexts),
  /** An array of texts of a closed set, which are not compared with the set either. */
  words: <T extends string>(): Column<readonly T[]> =>
    column('an array of text', (value) => readTexts(value) as readonly T[] | undefined),
  /** Parsed JSON: an object or an array, whose members are not checked. */
  json: <T extends object>(): Column<T> =>
    column('parsed JSON', (value) =>
      typeof value === 'object' && !(value instanceof Date) ? (value as T) : undefined,
    ),
  /** Null stays null; a missing column is refused. */
  nullable: <T>(kind: Column<T>): Column<T | null> => ({ ...kind, whenNull: { value: null } }),
  /** Where the column is null or missing, the member is the fallback. */
  or: <T, F>(kind: Column<T>, fallback: F): Column<T | F> => ({
    ...kind,
    whenNull: { value: fallback },
    mayBeMissing: true,
  }),
  /** Where the column is null or missing, the result does not have the member. */
  optional: <T>(kind: Column<T>): OptionalColumn<T> => ({ ...kind, isOptional: true }),
  /** Reads the column of this name. */
  from: <C extends Column<unknown>>(name: string, kind: C): C => ({ ...kind, name }),
}

/**
 * Makes a decoder of rows: it reads each member from the column of its name in snake case, or from the one that
 * {@link Column.from} names, and checks what the driver gave. The noun says in errors what the row is.
 * @throws Error, with a sentence that names noun and column and never the value, for a column that is missing, null or of another type
 *
 * @example
 * const readAccount = rowDecoder('account', { id: Column.text, weight: Column.integer, pausedAt: Column.nullable(Column.text) })
 * const accounts = (await driver.query(statement, [])).map((row) => readAccount(row))
 */
export function rowDecoder<const S extends Columns>(noun: string, columns: S): RowDecoder<Decoded<S>> {
  const parts = Object.entries(columns).map(([member, { expected, read, name, ...kind }]) => ({
    ...{ member, expected, read },
    name: name ?? member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    whenNull: kind.whenNull,
    mayBeMissing: kind.mayBeMissing === true,
    isOptional: kind.isOptional === true,
  }))
  const decode = (row: Row) => {
    const decoded: Record<string, unknown> = {}
    for (const part of parts) {
      const value = row[part.name]
      if (value === null || value === undefined) {
        if (part.isOptional) continue
        if (part.whenNull === undefined || (value === undefined && !part.mayBeMissing)) throw refuse(noun, part, value)
        decoded[part.member] = part.whenNull.value
        continue
      }
      const read = part.read(value)
      if (read === undefined) throw refuse(noun, part, value)
      decoded[part.member] = read
    }
    return decoded as Decoded<S>
  }
  const required = parts.filter(({ mayBeMissing }) => !mayBeMissing)
  return Object.assign(decode, { columns: required.map(({ name }) => name) })
}

function refuse(
  noun: string,
  { name, expected }: { readonly name: string; readonly expected: string },
  value: unknown,
) {
  if (value === undefined) return new Error(`The ${noun} row lacks the column "${name}".`)
  return new Error(`The ${noun} row has ${typeName(value)} in the column "${name}", not ${expected}.`)
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'text'
  if (value instanceof Date) return 'a Date'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
