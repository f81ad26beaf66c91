/** A calendar date in Eastern time, `YYYY-MM-DD`. */
export type EasternDate = string

const dayMs = 86_400_000

const eastern = new Intl.DateTimeFormat('en-CA', {
  timeZone: 'America/New_York',
  hourCycle: 'h23',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

/** Wall-clock time in Eastern time: the date, and minutes since midnight. */
export const toEastern = (instant: Date): { readonly date: EasternDate; readonly minute: number } => {
  const parts = new Map(eastern.formatToParts(instant).map((part) => [part.type, part.value]))
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ''
  return {
    date: `${part('year')}-${part('month')}-${part('day')}`,
    minute: Number(part('hour')) * 60 + Number(part('minute')),
  }
}

/** The instant of a wall-clock time in Eastern time; `minute` counts from midnight. */
export const fromEastern = (date: EasternDate, minute: number): Date => {
  const asUtc = Date.parse(`${date}T00:00:00Z`) + minute * 60_000
  for (const offsetHours of [5, 4]) {
    const candidate = new Date(asUtc + offsetHours * 3_600_000)
    const wall = toEastern(candidate)
    if (wall.date === date && wall.minute === minute) return candidate
  }
  return new Date(asUtc + 5 * 3_600_000)
}

const format = (time: number): EasternDate => new Date(time).toISOString().slice(0, 10)

/** Date of the n-th weekday of a month; `nth` −1 is the last one. Months count from 1, Sunday is 0. */
const nthWeekday = (year: number, month: number, weekday: number, nth: number): EasternDate => {
  if (nth > 0) {
    const first = new Date(Date.UTC(year, month - 1, 1)).getUTCDay()
    return format(Date.UTC(year, month - 1, 1 + ((weekday - first + 7) % 7) + (nth - 1) * 7))
  }
  const last = new Date(Date.UTC(year, month, 0))
  return format(last.getTime() - ((last.getUTCDay() - weekday + 7) % 7) * dayMs)
}

/** A fixed date. On a Sunday, the holiday is the following Monday. On a Saturday, banks are open on the Friday. */
const fixedDate = (year: number, month: number, day: number): EasternDate => {
  const time = Date.UTC(year, month - 1, day)
  return format(new Date(time).getUTCDay() === 0 ? time + dayMs : time)
}

const holidayCache = new Map<number, ReadonlySet<EasternDate>>()

/** The days of a year on which the Federal Reserve banks are closed, besides weekends. */
export const federalHolidays = (year: number): ReadonlySet<EasternDate> => {
  const known = holidayCache.get(year)
  if (known !== undefined) return known
  const holidays = new Set([
    fixedDate(year, 1, 1),
    nthWeekday(year, 1, 1, 3),
    nthWeekday(year, 2, 1, 3),
    nthWeekday(year, 5, 1, -1),
    fixedDate(year, 6, 19),
    fixedDate(year, 7, 4),
    nthWeekday(year, 9, 1, 1),
    nthWeekday(year, 10, 1, 2),
    fixedDate(year, 11, 11),
    nthWeekday(year, 11, 4, 4),
    fixedDate(year, 12, 25),
  ])
  holidayCache.set(year, holidays)
  return holidays
}

/** True when US banks settle on that day. */
export const isBankingDay = (date: EasternDate): boolean => {
  const weekday = new Date(`${date}T00:00:00Z`).getUTCDay()
  return weekday !== 0 && weekday !== 6 && !federalHolidays(Number(date.slice(0, 4))).has(date)
}

/** The `count`-th banking day after a date; with 0 the date itself, or the next banking day if it is not one. */
export const addBankingDays = (date: EasternDate, count: number): EasternDate => {
  let time = Date.parse(`${date}T00:00:00Z`)
  let left = count
  while (!isBankingDay(format(time))) time += dayMs
  while (left > 0) {
    time += dayMs
    if (isBankingDay(format(time))) left -= 1
  }
  return format(time)
}
