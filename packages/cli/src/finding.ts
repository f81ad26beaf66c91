/** How bad a finding is: a serious one keeps money from moving, or will; a warning is worth a look. */
export type Severity = 'serious' | 'warning'

/** Something that is wrong with the place: what it is, and what to do about it. */
export interface Finding {
  /** Stable name, for alarms. */
  readonly code: string
  readonly severity: Severity
  /** What is wrong, in a sentence. */
  readonly what: string
  /** What to do about it, in a sentence or two. */
  readonly cure: string
}

/** Makes a finding that is serious. */
export const serious = (code: string, what: string, cure: string): Finding => ({
  code,
  severity: 'serious',
  what,
  cure,
})

/** Makes a finding that is worth a look. */
export const warning = (code: string, what: string, cure: string): Finding => ({
  code,
  severity: 'warning',
  what,
  cure,
})
