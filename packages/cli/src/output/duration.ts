const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/** Formats milliseconds with their two greatest units, for example `2h 5m`; less than a second is `0s`. */
export function formatDuration(ms: number): string {
  const sign = ms < 0 ? '-' : ''
  let rest = Math.floor(Math.abs(ms) / 1000) * 1000
  const parts: string[] = []
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size)
    rest -= count * size
    // A zero after the first unit is left out, but still counts as the second unit.
    if (count > 0) parts.push(`${count}${unit}`)
    else if (parts.length === 1) break
    if (parts.length === 2) break
  }
  return parts.length === 0 ? '0s' : sign + parts.join(' ')
}

/** Parses a duration such as `90s`, `15m`, `2h` or `1d` into milliseconds; `undefined` for other text. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const size = units.find(([name]) => name === unit)?.[1]
  const ms = size === undefined ? undefined : Number(count) * size
  return ms === undefined || ms > longestMs ? undefined : ms
}

/** A hundred years: further back there is no time that Postgres reads. */
const longestMs = 36_525 * 86_400_000
