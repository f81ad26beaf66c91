/** The range of a configured number. */
export interface NumberRange {
  readonly min: number
  /** Default: any finite number. */
  readonly max?: number | undefined
  /** Whole numbers only. Default false. */
  readonly integer?: boolean | undefined
}

/** Longest delay of a timer, in milliseconds: 24 days. A longer one would fire at once. */
export const longestTimerMs = 2_147_483_647

/** Range of a timer's delay. */
export const timerRange: NumberRange = { min: 1, max: longestTimerMs }

/**
 * Checks configured numbers by their option names; undefined means absent and passes.
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
