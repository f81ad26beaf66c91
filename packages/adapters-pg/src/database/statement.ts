/** One named SQL statement. The name identifies the prepared statement on a connection, so equal names have equal text. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A row as every driver returns it: text, integers, booleans, null and parsed JSON only. */
export type Row = Readonly<Record<string, unknown>>

/** Makes statements for one schema: `{{schema}}` stands for the quoted name in the texts. */
export function statements<const T extends Readonly<Record<string, string>>>(
  tokens: Readonly<Record<string, string>>,
  texts: T,
): { readonly [K in keyof T]: Statement } {
  const made = Object.entries(texts).map(([name, text]) => {
    const full = fillTokens(text, tokens)
    return [name, { name: `outlay_${tokens['schema'] ?? ''}_${name}`.replaceAll('"', ''), text: full }] as const
  })
  return Object.fromEntries(made) as { readonly [K in keyof T]: Statement }
}

/** Replaces every `{{token}}`; an unknown one is a programmer's mistake. */
export function fillTokens(text: string, tokens: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, token: string) => {
    const value = tokens[token]
    if (value === undefined) throw new Error(`The SQL text has an unknown token {{${token}}}.`)
    return value
  })
}

/** Quotes an SQL identifier. */
export function quoteIdentifier(name: string): string {
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(name)) {
    throw new Error(
      `A schema name is lower-case letters, digits and underscores, at most 51 characters; got "${name}".`,
    )
  }
  return `"${name}"`
}

/** Escapes in JSON text that Postgres refuses in jsonb: NUL, and halves of surrogate pairs. */
const unstorable = /\\u(?:0000|d[89a-f])/i

/** A value has no JSON text, so it cannot be stored. Its code is that of a data exception of Postgres. */
class UnstorableError extends Error {
  override readonly name = 'UnstorableError'
  readonly code = '22000'
}

/**
 * JSON text that Postgres can store, whatever another system put into a string: what it refuses becomes U+FFFD.
 * @throws UnstorableError for a value without a JSON text, as one with a bigint
 */
export function storableJson(value: unknown): string {
  const text = jsonOf(value)
  if (!unstorable.test(text)) return text
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'string' ? member.toWellFormed().replaceAll('\0', '\ufffd') : member,
  )
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    throw new UnstorableError('The value has no JSON text.', { cause: error })
  }
}
