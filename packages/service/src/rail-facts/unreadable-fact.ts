import { createHash } from 'node:crypto'
import type { NewRailFact } from './rail-facts.ts'

/** Longest JSON of a fact that cannot be read, in characters; of more, the beginning is kept as text. */
const longestSaid = 4_000

/** What a rail said and nobody can read. It is kept as far as it is JSON. */
export function unreadable(said: unknown): NewRailFact {
  const text = jsonOf(said)
  const payload =
    text.length <= longestSaid
      ? { said: JSON.parse(text) as unknown }
      : { said: text.slice(0, longestSaid), sha256: digestOf(text) }
  return { ...bare(said), payload }
}

/** The same, where what was said must not be stored, or cannot be: its digest distinguishes it from others. */
export function undisclosed(said: unknown): NewRailFact {
  return { ...bare(said), payload: { sha256: digestOf(jsonOf(said)) } }
}

/** A fact that Postgres refuses to store as it is. */
export function unstorable(row: NewRailFact): NewRailFact {
  const sha256 = digestOf(jsonOf(row))
  return { kind: 'unreadable', reference: `unstorable ${sha256}`, payload: { sha256 } }
}

/** The reference as the rail wrote it. A getter may throw. */
export function referenceOf(said: unknown): unknown {
  try {
    return (said as { readonly reference?: unknown } | null | undefined)?.reference
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
