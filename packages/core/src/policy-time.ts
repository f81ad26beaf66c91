/** Days of the week, as a policy names them. */
export const policyDays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** A day of the week. */
export type PolicyDay = (typeof policyDays)[number]

/** A part of the day, of some days or of all. */
export interface PolicyTime {
  /** IANA name of the time zone, such as `Europe/Berlin`. */
  readonly zone: string
  /** From then on, `HH:MM`. With `to` before `from` it goes over midnight, and belongs to the day on which it began. Default 00:00. */
  readonly from?: string | undefined
  /** Until before then, `HH:MM`, or 24:00. Default 24:00. */
  readonly to?: string | undefined
  /** Default: every day. */
  readonly days?: readonly PolicyDay[] | undefined
}

const minutesOf = (time: string): number => {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}

/** What a clock on the wall of a zone shows: a day as an index of `policyDays`, and minutes since midnight. */
interface Reading {
  readonly day: number
  readonly minute: number
}

/** A clock of one zone, and what it showed in the minutes that were asked for. */
interface ZoneClock {
  readonly format: Intl.DateTimeFormat
  readonly readings: Map<number, Reading>
}

/** Making a clock takes longer than all else that is judged, and reading one longer than all conditions of a policy. */
const clocks = new Map<string, ZoneClock>()

/** Most minutes that a clock remembers. */
const maxReadings = 1_000

/** Undefined for a zone that this process does not know: another one has checked it. */
function clockOf(zone: string): ZoneClock | undefined {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  try {
    const format = new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone: zone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
    })
    const clock = { format, readings: new Map<number, Reading>() }
    clocks.set(zone, clock)
    return clock
  } catch {
    return undefined
  }
}

/** Zones are whole minutes apart, so all of a minute reads the same. */
function readClock({ format, readings }: ZoneClock, now: Date): Reading {
  const minuteOfTime = Math.floor(now.getTime() / 60_000)
  const known = readings.get(minuteOfTime)
  if (known !== undefined) return known
  const parts = format.formatToParts(now)
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? ''
  const day = policyDays.indexOf(part('weekday').toLowerCase() as PolicyDay)
  const reading = { day, minute: minutesOf(`${part('hour')}:${part('minute')}`) }
  if (readings.size >= maxReadings) readings.clear()
  readings.set(minuteOfTime, reading)
  return reading
}

/** True when the moment is in that part of the day, there. In a zone that this process does not know it always is. */
export function isAtTime({ zone, from = '00:00', to = '24:00', days = policyDays }: PolicyTime, now: Date): boolean {
  const clock = clockOf(zone)
  if (clock === undefined) return true
  const { day, minute } = readClock(clock, now)
  const isOn = (at: number) => days.includes(policyDays[(at + 7) % 7] as PolicyDay)
  const [begin, end] = [minutesOf(from), minutesOf(to)]
  if (begin <= end) return isOn(day) && minute >= begin && minute < end
  return (isOn(day) && minute >= begin) || (isOn(day - 1) && minute < end)
}
