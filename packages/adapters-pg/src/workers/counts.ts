/** Makes counts by name, and their total. */
export function createCounts() {
  const counts = new Map<string, number>()
  let total = 0
  const get = (name: string) => counts.get(name) ?? 0
  return {
    get,
    names: () => [...counts.keys()],
    total: () => total,
    /** Returns the new count. */
    add(name: string, change: 1 | -1): number {
      const count = get(name) + change
      total += change
      if (count === 0) counts.delete(name)
      else counts.set(name, count)
      return count
    },
  }
}
