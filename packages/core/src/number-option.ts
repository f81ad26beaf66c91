/** What a number that somebody configures may be. */
export interface NumberRange {
  readonly min: number
  /** Default: any finite number. */
  readonly max?: number | undefined
  /** Whole numbers only. Default false. */
  readonly integer?: boolean | undefined
}

/** Longest time that a timer can be set to, in milliseconds: 24 days. A longer one would fire at once. */
export const longestTimerMs = 2_147_483_647

/** A time that a timer waits for. */
export const timerRange: NumberRange = { min: 1, max: longestTimerMs }

/**
 * Checks numbers that somebody configures, by the names that they have there; undefined is none, and fine.
 * @throws Error, with a sentence that names the option, for a value that is no number or out of its range
 */
export function checkNumbers(
  options: Readonly<Record<string, unknown>>,
  ranges: Readonly<Record<string, NumberRange>>,
  prefix = '',
): void {
  for (const [name, range] of Object.entries(ranges)) {
    const value = options[name]
    if (value === undefined || isWithin(value, range)) continue
    const kind = range.integer === true ? 'a whole number' : 'a number'
    const bounds = range.max === undefined ? `from ${range.min} on` : `from ${range.min} to ${range.max}`
    const got = typeof value === 'number' ? String(value) : typeof value
    throw new Error(`${prefix}${name} is ${kind} ${bounds}; got ${got}.`)
  }
}

const isWithin = (value: unknown, { min, max = Number.MAX_VALUE, integer = false }: NumberRange): boolean =>
  (integer ? Number.isInteger(value) : Number.isFinite(value)) && (value as number) >= min && (value as number) <= max
