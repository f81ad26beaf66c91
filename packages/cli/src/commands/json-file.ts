import { readFile } from 'node:fs/promises'
import { Misuse } from '../session/problem.ts'

/**
 * Reads a file of JSON. What is in it is for the engine to check.
 * @throws Misuse for a file that cannot be read, is no JSON, or has a member twice in one object; it says `next`, or to keep one, such as `example`
 */
export async function readJson<T>(
  file: string,
  { next, example }: { readonly next: string; readonly example: string },
): Promise<T> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Misuse(`The file ${file} cannot be read.`, next)
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Misuse(`The file ${file} is no JSON.`, next)
  }
  if (countMembers(value) !== countWritten(text))
    throw new Misuse(
      `The file ${file} has a member twice in one object, of which only the last would count.`,
      `Keep one of the two, such as ${example}.`,
    )
  return value as T
}

/** How many members the objects of a JSON text have, with repeated ones: between its strings, only a member has a colon. */
const countWritten = (text: string): number =>
  text
    .split(/"(?:[^"\\]|\\.)*"/)
    .join('')
    .split(':').length - 1

/** How many members the objects in a value have. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  const own = Array.isArray(value) ? 0 : members.length
  return members.reduce<number>((sum, member) => sum + countMembers(member), own)
}
