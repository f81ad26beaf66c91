import { type Issue, OutlayError } from '@outlay/core'
import type { z } from 'zod'
import { isStorable } from '../http/body.ts'
import { parameterError } from '../http/problem.ts'

/** Longest value of a parameter. */
const longestValue = 1_024

/**
 * Reads a query as one object; `metadata[name]=value` becomes a member of `metadata`.
 * @throws OutlayError `invalid_request` with the parameter
 */
export function readQuery(search: URLSearchParams): Readonly<Record<string, unknown>> {
  const query: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  const metadata: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of search) {
    if (value.length > longestValue || !isStorable(value) || !isStorable(name))
      throw parameterError(name.slice(0, 64), `is at most ${longestValue} characters of well-formed text.`)
    const pair = /^metadata\[(.+)\]$/.exec(name)?.[1]
    const into = pair === undefined ? query : metadata
    const own = pair ?? name
    // Readers of objects leave this name out, and the filter would be wider than asked.
    if (own === '__proto__') throw parameterError(name, 'is a name that cannot be used.')
    if (own in into) throw parameterError(name, 'is there more than once.')
    into[own] = value
  }
  return Object.keys(metadata).length === 0 ? { ...query } : { ...query, metadata: { ...metadata } }
}

/**
 * Checks what a request brings.
 * @throws OutlayError `missing_field`, `invalid_request` with every member that breaks a rule
 */
export function check<T>(schema: z.ZodType<T>, value: unknown, isQuery: boolean): T {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const issues = error.issues.slice(0, 50).flatMap((issue) => describe(issue, isQuery))
  const [first, ...others] = issues
  if (first === undefined) throw new Error('A schema refused without an issue.')
  throw OutlayError.fromIssues([first, ...others])
}

function describe(issue: z.core.$ZodIssue, isQuery: boolean): readonly Issue[] {
  const path = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, 10).map((name) => ({
      field: at(path === '' ? name : `${path}.${name}`, isQuery),
      code: 'invalid_request' as const,
      message: 'is unknown here',
    }))
  }
  const isMissing = issue.code === 'invalid_type' && issue.input === undefined
  return [{ field: at(path, isQuery), code: isMissing ? 'missing_field' : 'invalid_request', message: issue.message }]
}

const at = (path: string, isQuery: boolean): string => (isQuery ? `?${path}` : path)
