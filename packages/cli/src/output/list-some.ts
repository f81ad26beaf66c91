import type { Group } from '@outlay/adapters-pg'

/** Most names in a sentence. */
const mostNamed = 5

/**
 * The first five names, and how many more there are: `acme, globex and 3 more`. `count` is how many there are in all where not all of
 * them are known here. With `between: '; '` it lists what has commas itself.
 */
export function listSome(
  names: readonly string[],
  { count = names.length, between = ', ' }: { readonly count?: number; readonly between?: ', ' | '; ' } = {},
): string {
  const named = names.slice(0, mostNamed)
  const more = count - named.length
  const and = between === ', ' ? ' and' : '; and'
  return named.join(between) + (more > 0 ? `${and} ${more} more` : '')
}

/** The samples of a group, and how many more there are. */
export const listGroup = ({ samples, count }: Pick<Group, 'samples' | 'count'>): string => listSome(samples, { count })
