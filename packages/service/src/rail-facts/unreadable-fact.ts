import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { foreignAmount, foreignId } from '../rails/foreign-value.ts'
import type { NewRailFact } from './rail-facts.ts'

/** Longest JSON of a fact that cannot be read, in characters; of more, the beginning is kept as text. */
const longestSaid = 4_000

/**
 * What a rail said of a payment and nobody can read. It is kept as far as it is JSON, with the transfer, the account and the amount where those
 * can be read.
 */
export function unreadable(said: unknown): NewRailFact {
  const text = jsonOf(said)
  const payload =
    text.length <= longestSaid
      ? { said: JSON.parse(text) as unknown }
      : { said: text.slice(0, longestSaid), sha256: digestOf(text) }
  const about = {
    transferId: memberOf(said, 'transferId', foreignId),
    accountId: memberOf(said, 'accountId', foreignId),
    amount: memberOf(said, 'amount', foreignAmount),
  }
  return { ...bare(said), ...about, payload, identity: { ...bare(said), payload } }
}

/** The same, where what was said must not be stored, or cannot be: its digest distinguishes it from others. */
export function undisclosed(said: unknown): NewRailFact {
  return { ...bare(said), payload: { sha256: digestOf(jsonOf(said)) } }
}

/** A fact that Postgres refuses to store as it is: its digest instead of what else it says. */
export function unstorable(row: NewRailFact): NewRailFact {
  const { kind, transferId, accountId, amount } = row
  return { ...unnamed(row), transferId, accountId, amount, payload: { sha256: digestOf(jsonOf(row)), kind } }
}

/** The same, where Postgres refuses that, too. */
export function unnamed(row: NewRailFact): NewRailFact {
  const sha256 = digestOf(jsonOf(row))
  const bare = { kind: 'unreadable', reference: `unstorable ${sha256}`, payload: { sha256 } } as const
  return { ...bare, identity: bare }
}

/** The reference as the rail wrote it. */
export function referenceOf(said: unknown): unknown {
  return readMember(said, 'reference')
}

/** A member by itself, where it can be read. */
function memberOf<T>(said: unknown, name: string, schema: z.ZodType<T>): T | undefined {
  const read = schema.safeParse(readMember(said, name))
  return read.success ? read.data : undefined
}

/** A getter may throw. */
function readMember(said: unknown, name: string): unknown {
  try {
    return (said as Readonly<Record<string, unknown>> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}

function bare(said: unknown): Pick<NewRailFact, 'kind' | 'reference'> {
  return { kind: 'unreadable', reference: textOf(referenceOf(said)).slice(0, 255) }
}

function jsonOf(said: unknown): string {
  try {
    return JSON.stringify(said) ?? 'null'
  } catch {
    return '"It is no JSON."'
  }
}

function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return ''
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
