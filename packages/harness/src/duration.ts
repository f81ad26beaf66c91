const unitsMs = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
} as const

type Unit = keyof typeof unitsMs

/** A duration: milliseconds, or words such as `2 hours`, `90 seconds`, `1 day`. */
export type Duration = number | `${number} ${Unit | `${Unit}s`}`

/** Parses a duration as milliseconds. Throws for other text and for negative durations. */
export function parseDuration(duration: Duration): number {
  if (typeof duration === 'number' && duration >= 0 && Number.isFinite(duration)) return duration
  const [, count, unit] = /^(\d+(?:\.\d+)?) (second|minute|hour|day|week)s?$/.exec(String(duration)) ?? []
  if (count === undefined || unit === undefined) {
    throw new Error(`Not a duration: ${duration}. Write milliseconds, or words such as "2 hours" or "1 day".`)
  }
  return Number(count) * unitsMs[unit as Unit]
}
