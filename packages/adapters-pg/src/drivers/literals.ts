import { escapeLiteral } from 'pg'
import type { Statement } from '../database/statement.ts'

/** The text form of a value, as node-postgres sends it. */
function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return `{${value.map(toElement).join(',')}}`
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function toElement(value: unknown): string {
  const text = toText(value)
  if (text === null) return 'NULL'
  return Array.isArray(value) ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

/** The statement with its values in its text: a message of several statements has no parameters. */
export function inline({ text }: Statement, values: readonly unknown[]): string {
  const literals = values.map((value) => {
    const literal = toText(value)
    return literal === null ? 'null' : escapeLiteral(literal)
  })
  return text.replaceAll(/\$(\d+)/g, (parameter, number) => literals[Number(number) - 1] ?? parameter)
}
