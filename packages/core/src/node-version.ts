/** What runs JavaScript, by its name in `process.versions`, and the oldest version that the packages run on. */
const oldestVersions = [
  // Bun and Deno also have the version of the Node that they imitate, so they come first.
  { key: 'bun', name: 'Bun', oldest: '1.4.0' },
  { key: 'deno', name: 'Deno', oldest: '2.9.0' },
  { key: 'node', name: 'Node', oldest: '22.19.0' },
] as const

/**
 * Says in one sentence what is needed and what is there, or undefined where the packages run.
 *
 * `versions` is `process.versions`. Where there is none, as in a browser, nothing is known and nothing is refused.
 */
export function explainVersion(versions: Readonly<Record<string, string | undefined>> | undefined): string | undefined {
  const needed = oldestVersions.find(({ key }) => versions?.[key] !== undefined)
  const found = needed && versions?.[needed.key]
  if (needed === undefined || found === undefined || isAtLeast(found, needed.oldest)) return undefined
  return `Outlay needs ${needed.name} ${needed.oldest.replace(/\.0$/, '')} or later, and this is ${needed.name} ${found}.`
}

const numbersOf = (version: string): readonly number[] => version.split(/[^0-9]+/).map(Number)

const isAtLeast = (found: string, oldest: string): boolean => {
  const [one, other] = [numbersOf(found), numbersOf(oldest)]
  const place = other.findIndex((number, index) => one[index] !== number)
  return place < 0 || (one[place] ?? 0) > (other[place] ?? 0)
}

const { process } = globalThis as { readonly process?: { readonly versions?: Readonly<Record<string, string>> } }
const reason = explainVersion(process?.versions)
if (reason !== undefined) throw new Error(reason)
