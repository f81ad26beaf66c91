/** Severity of a finding: a serious one keeps money from moving, or will; a warning needs attention. */
export type Severity = 'serious' | 'warning'

/** A problem of the database or the engine, and what to do about it. */
export interface Finding {
  /** Stable name, for alerts. */
  readonly code: string
  readonly severity: Severity
  /** The problem, in a sentence. */
  readonly what: string
  /** What to do about it, in a sentence or two. */
  readonly cure: string
}

/** A serious finding. */
export const serious = (code: string, what: string, cure: string): Finding => ({
  code,
  severity: 'serious',
  what,
  cure,
})

/** A warning. */
export const warning = (code: string, what: string, cure: string): Finding => ({
  code,
  severity: 'warning',
  what,
  cure,
})

/** Makes a finding of a severity by a limit of each; undefined below both. */
export function graded(over: number, limit: { readonly warning: number; readonly serious: number }) {
  if (over >= limit.serious) return serious
  return over >= limit.warning ? warning : undefined
}
