/** What some policies or limits are otherwise than others, by their names, as a sentence; undefined where they are the same in the same order. */
export function describeChange(
  before: readonly Readonly<Record<string, unknown>>[],
  after: readonly Readonly<Record<string, unknown>>[],
): string | undefined {
  const texts = (policies: typeof before) => new Map(policies.map((one) => [String(one['name']), JSON.stringify(one)]))
  const [was, is] = [texts(before), texts(after)]
  const changes: readonly (readonly [verb: string, names: readonly string[]])[] = [
    ['adds', [...is.keys()].filter((name) => !was.has(name))],
    ['changes', [...is].filter(([name, text]) => was.has(name) && was.get(name) !== text).map(([name]) => name)],
    ['removes', [...was.keys()].filter((name) => !is.has(name))],
  ]
  const parts = changes.flatMap(([verb, names]) => (names.length === 0 ? [] : [`${verb} ${names.join(', ')}`]))
  const last = parts.pop()
  if (last !== undefined) return `It ${parts.length === 0 ? last : `${parts.join(', ')} and ${last}`}.`
  return JSON.stringify(before) === JSON.stringify(after) ? undefined : 'It changes the order.'
}
