import { ActorName } from '../actor-name.ts'
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
  const problem = typeof actor === 'string' ? nameProblem(actor) : 'must be text'
  if (problem !== undefined) throw OutlayError.fromIssues([{ field, code: 'invalid_request', message: problem }])
}

/** What is wrong with the name of a person: names that are drawn the same would be two people. */
function nameProblem(name: string): string | undefined {
  if (name.length > longestName || name !== name.trim())
    return `must be at most ${longestName} characters, without spaces around it`
  const hidden = ActorName.findUnseen(name)
  if (hidden !== undefined) return `has a character that nobody sees, ${codeOf(hidden)}; write the name without it`
  const foreign = ActorName.findForeign(name)
  if (foreign !== undefined)
    return `has the letter ${codeOf(foreign)}, of a script in which names are not compared; write it in another one, or give the id of the user`
  const mixed = ActorName.findMixed(name)
  return mixed === undefined ? undefined : `mixes letters of two scripts in "${mixed}"; write it in one`
}

const codeOf = (letter: string): string => `U+${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`

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

/** Reads who and why of a command for which names are not compared, so that any text is one: nobody searches for a spelling in an emergency. */
export function readAnyNote(note: unknown): OperatorNote {
  checkNames(note ?? {}, ['actor', 'reason'])
  const { actor, reason } = (note ?? {}) as OperatorNote
  if (reason !== undefined) checkText(reason, 'reason')
  if (actor !== undefined) checkText(actor, 'actor')
  return { actor, reason }
}

/** Reads the moment since which something is so: its text, exactly as it was shown. */
export function readMoment(moment: unknown, field: string): string | undefined {
  if (moment === undefined) return undefined
  checkText(moment, field)
  if (typeof moment === 'string' && !Number.isNaN(Date.parse(moment))) return moment
  throw OutlayError.fromIssues([{ field, code: 'invalid_request', message: 'must be a time, as it was shown' }])
}

/** Reads who and why of a command that does not require them, and for which names may be compared. */
export function readGivenNote(note: unknown, others: readonly string[] = []): OperatorNote {
  checkNames(note ?? {}, ['actor', 'reason', ...others])
  const { actor, reason } = (note ?? {}) as OperatorNote
  if (actor !== undefined) checkActor(actor)
  if (reason !== undefined) checkText(reason, 'reason')
  return { actor, reason }
}
