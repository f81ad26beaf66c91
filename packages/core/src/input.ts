import type { ErrorCode } from './error.ts'
import { type Issue, OutlayError } from './error.ts'

/** How the members of an input are spelled: `addressId` or `address_id`. */
export type Spelling = 'camel' | 'snake'

/** How an input is read. */
export interface ParseOptions {
  /** Path of the input inside a greater one; put before every reported field, for example `3` gives `3.amount.value`. */
  readonly fieldPrefix?: string | undefined
  /** Spelling in which a missing member is reported. Default: the spelling of the members that are present. */
  readonly spelling?: Spelling | undefined
}

/** How an input that names two value types is read. */
export interface PegOptions extends ParseOptions {
  /** Refuses value types with different pegs, because value moves one to one. Default false. */
  readonly samePeg?: boolean | undefined
  /** How somebody gets a rate, for the message about two pegs whose source is a token. Default: that no rate is known. */
  readonly pegHint?: string | undefined
}

/** A plain object from outside. */
export type InputRecord = Readonly<Record<string, unknown>>

/** One member in its two spellings. */
export interface Member {
  readonly camel: string
  readonly snake: string
}

/** An object being read: its place in the whole input, and the broken rules so far. */
export interface Input {
  readonly record: InputRecord
  /** Path of the object with a trailing dot; empty for the root. */
  readonly prefix: string
  /** Spelling of missing members. */
  readonly spelling: Spelling
  readonly issues: Issue[]
}

/** True for an object that is neither null nor an array. */
const isRecord = (value: unknown): value is InputRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Makes a member from its camelCase spelling. */
export const member = (camel: string): Member => ({
  camel,
  snake: camel.replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`),
})

/**
 * The member of an object that is there in both spellings, by its camelCase one; `undefined` without one. Nobody can know which of the two is
 * meant, and whoever has checked the one may see the other take effect.
 */
export const spelledTwice = (record: InputRecord): string | undefined =>
  Object.keys(record).find((name) => {
    if (!/[A-Z0-9]/.test(name) || record[name] === undefined) return false
    const { snake } = member(name)
    return snake !== name && record[snake] !== undefined
  })

/** Records the member that is there in both spellings. */
const checkSpellings = (input: Input): Input => {
  const twice = spelledTwice(input.record)
  if (twice !== undefined) {
    const message = 'is there in both spellings; send one of them'
    input.issues.push({ field: input.prefix + twice, code: 'invalid_request', message })
  }
  return input
}

/** Value of a member in either spelling; null counts as absent. */
export const read = (record: InputRecord, { camel, snake }: Member): unknown =>
  record[camel] ?? record[snake] ?? undefined

/** True when the member is present in either spelling, even as null. */
export const has = (record: InputRecord, { camel, snake }: Member): boolean =>
  record[camel] !== undefined || record[snake] !== undefined

const spelled = (record: InputRecord, { camel, snake }: Member, spelling: Spelling): string => {
  if (record[camel] !== undefined && record[camel] !== null) return camel
  if (record[snake] !== undefined && record[snake] !== null) return snake
  if (record[camel] !== undefined) return camel
  if (record[snake] !== undefined) return snake
  return spelling === 'snake' ? snake : camel
}

const spellingOf = (value: unknown, depth = 0): Spelling => {
  if (!isRecord(value) || depth > 2) return 'camel'
  for (const key of Object.keys(value)) if (key.includes('_')) return 'snake'
  return Object.values(value).some((inner) => spellingOf(inner, depth + 1) === 'snake') ? 'snake' : 'camel'
}

const prefixOf = (fieldPrefix: string | undefined): string => {
  if (fieldPrefix === undefined || fieldPrefix === '') return ''
  return fieldPrefix.endsWith('.') ? fieldPrefix : `${fieldPrefix}.`
}

/** Path of a member that is known by its camelCase spelling only. */
export const pathUnder = (options: ParseOptions, ...path: readonly string[]): string => {
  const names = options.spelling === 'snake' ? path.map((name) => member(name).snake) : path
  return prefixOf(options.fieldPrefix) + names.join('.')
}

/** Starts reading an input; throws `invalid_request` when it is no object. */
export const openInput = (value: unknown, options: ParseOptions = {}): Input => {
  const prefix = prefixOf(options.fieldPrefix)
  if (!isRecord(value)) {
    const field = prefix.slice(0, -1)
    throw OutlayError.fromIssues([{ field, code: 'invalid_request', message: 'must be an object' }])
  }
  return checkSpellings({ record: value, prefix, spelling: options.spelling ?? spellingOf(value), issues: [] })
}

/** Path of a member in the caller's own spelling. */
export const pathOf = (input: Input, member: Member): string =>
  input.prefix + spelled(input.record, member, input.spelling)

/** Records a broken rule of a member. */
export const refuse = (input: Input, member: Member, code: ErrorCode, message: string): undefined => {
  input.issues.push({ field: pathOf(input, member), code, message })
}

/** Records the broken rules that a function throws, so that one answer names all of them; rethrows programmer's mistakes. */
export const gather = <T>(input: Input, run: () => T): T | undefined => {
  try {
    return run()
  } catch (error) {
    if (!OutlayError.is(error)) throw error
    input.issues.push(...error.issues)
    return undefined
  }
}

/** Ends the reading: throws one error with all broken rules, if any. */
export const closeInput = ({ issues: [first, ...rest] }: Input): void => {
  if (first !== undefined) throw OutlayError.fromIssues([first, ...rest])
}

/** Opens an object inside an object; records an issue when it is no object, or when it is required and absent. `wanted` are members that the message names. */
export const enter = (
  input: Input,
  member: Member,
  optional = false,
  wanted: readonly Member[] = [],
): Input | undefined => {
  const value = read(input.record, member)
  if (value === undefined) {
    if (!optional) refuse(input, member, 'missing_field', 'is required')
    return undefined
  }
  if (!isRecord(value)) {
    const names = wanted.map(({ camel, snake }) => (input.spelling === 'snake' ? snake : camel)).join(', ')
    return refuse(input, member, 'invalid_request', `must be an object${names === '' ? '' : ` with ${names}`}`)
  }
  const { spelling, issues } = input
  return checkSpellings({ record: value, prefix: `${pathOf(input, member)}.`, spelling, issues })
}

/** True for text that a database can store: whole characters, no NUL. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** Number of characters, an emoji counting as one. */
const lengthOf = (text: string): number => {
  let length = 0
  for (const _ of text) length += 1
  return length
}

/** How a text member is read. */
export interface TextRule {
  readonly optional?: boolean
  /** Longest length in characters. Default 255. */
  readonly max?: number
  readonly tooLong?: ErrorCode
  /** Lets the text be empty. */
  readonly empty?: boolean
}

/** Reads a text member; records an issue and returns `undefined` when it breaks the rule. */
export const readText = (input: Input, member: Member, rule: TextRule = {}): string | undefined => {
  const value = read(input.record, member)
  const max = rule.max ?? 255
  if (value === undefined) return rule.optional ? undefined : refuse(input, member, 'missing_field', 'is required')
  if (typeof value !== 'string') return refuse(input, member, 'invalid_request', 'must be a string')
  if (value.trim() === '' && !rule.empty) {
    return refuse(input, member, rule.optional ? 'invalid_request' : 'missing_field', 'must not be empty')
  }
  if (value.length > max && lengthOf(value) > max) {
    return refuse(input, member, rule.tooLong ?? 'invalid_request', `must be at most ${max} characters`)
  }
  if (!isStorable(value)) return refuse(input, member, 'invalid_request', 'must be well-formed text without NUL')
  return value
}

const opaqueId = /^[\x21-\x7e]{1,255}$/

/** Reads an id of the service, opaque here: 1 to 255 visible ASCII characters. */
export const readId = (input: Input, member: Member, optional = false): string | undefined => {
  const value = read(input.record, member)
  if (value === undefined) return optional ? undefined : refuse(input, member, 'missing_field', 'is required')
  if (typeof value !== 'string' || !opaqueId.test(value)) {
    return refuse(input, member, 'invalid_id', 'must be an id: 1 to 255 visible ASCII characters')
  }
  return value
}

/** Says that a name is not in a catalog, and which are. */
export const notInCatalog = (entries: readonly { readonly name: string }[]): string =>
  `is not in the catalog, which has ${entries.map(({ name }) => name).join(', ')}`
