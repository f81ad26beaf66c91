import { InvalidArgumentError } from 'commander'

/** Reads how many of something are wanted. */
export function parseCount(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (count < 1) throw new InvalidArgumentError('It is a number from 1 to 999999.')
  return count
}

/** Reads the number of a version; 0 is before the first one. */
export function parseVersion(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is the number of a version, such as 3.')
  return Number(text)
}

/** Gathers the values of an option that may be repeated, each with one value, so that it takes no argument for another value. */
export const collect = (value: string, before: readonly string[]): string[] => [...before, value]
