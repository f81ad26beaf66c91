import { InvalidArgumentError } from 'commander'

/** Reads how many of something are wanted. */
export function parseCount(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (count < 1) throw new InvalidArgumentError('It is a number from 1 to 999999.')
  return count
}
