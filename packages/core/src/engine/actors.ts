import { OutlayError } from '../error.ts'
import { checkNames } from '../option-names.ts'
import type { ControlNote } from '../ports/holds.ts'
import type { OperatorNote } from '../ports/safety.ts'
import { checkText } from './checked-text.ts'

/** Longest name of a person or of a role. */
const longestName = 255

/** Checks who somebody is; throws `missing_field` or `invalid_request`. */
export function checkActor(actor: unknown, field = 'actor'): void {
  if (actor === undefined || actor === null || actor === '') {
    throw OutlayError.fromIssues([{ field, code: 'missing_field', message: 'is required: who gives the command' }])
  }
  checkText(actor, field)
  if (typeof actor !== 'string' || actor.length > longestName || actor !== actor.trim()) {
    const message = `must be at most ${longestName} characters, without spaces around it`
    throw OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
  }
}

/** Checks who and why. */
export function checkControlNote(note: unknown, others: readonly string[] = []): asserts note is ControlNote {
  checkNames(note ?? {}, ['actor', 'reason', ...others])
  const { actor, reason } = (note ?? {}) as Partial<ControlNote>
  checkActor(actor)
  if (reason === undefined || reason === '') {
    throw OutlayError.fromIssues([
      { field: 'reason', code: 'missing_field', message: 'is required: why, for the audit' },
    ])
  }
  checkText(reason, 'reason')
}

/** Reads who and why of a command that does not require them. */
export function readGivenNote(note: unknown): OperatorNote {
  checkNames(note ?? {}, ['actor', 'reason'])
  const { actor, reason } = (note ?? {}) as OperatorNote
  if (actor !== undefined) checkActor(actor)
  if (reason !== undefined) checkText(reason, 'reason')
  return { actor, reason }
}
