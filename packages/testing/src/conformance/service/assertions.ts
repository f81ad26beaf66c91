import { strict as assert } from 'node:assert'
import type { ProblemRecord } from './records.ts'
import type { Answer } from './session.ts'

/** The form of an id. Specification: "Conventions". */
export const idPattern = /^[a-zA-Z0-9]{26}$/

/** An id of nothing. */
export const unknownId = '00000000000000000000000000'

/** Asserts that an answer has a status. */
export function expectStatus(answer: Answer<unknown>, status: number): void {
  assert.equal(answer.status, status, `HTTP ${answer.status} rather than ${status}: ${answer.text}`)
}

/** Asserts that a request was refused, and returns the refusal. It searches for the code in every possible place. */
export function expectRefusal(answer: Answer<unknown>, status: number, code?: string): ProblemRecord {
  expectStatus(answer, status)
  assert.ok(answer.text.length > 0, 'A refusal has a body.')
  if (code !== undefined) assert.ok(answer.text.includes(code), `${answer.text} does not say ${code}`)
  return answer.json as ProblemRecord
}

/** Asserts that a value is an ISO 8601 time in UTC with a fraction of a second. Specification: "Conventions". */
export function expectTimestamp(value: unknown): void {
  assert.match(String(value), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/)
  assert.ok(Number.isFinite(Date.parse(String(value))))
}

/** Asserts that every member of an object is a string. */
export function expectStrings(record: Readonly<Record<string, unknown>> | undefined, members: readonly string[]): void {
  for (const name of members) assert.equal(typeof record?.[name], 'string', `${name} of ${JSON.stringify(record)}`)
}
