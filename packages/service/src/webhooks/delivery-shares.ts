/** How much of the capacity for deliveries each owner uses, in deliveries. */
export interface Shares {
  /** Counts a delivery that begins or ends; true when the owner was at its limit and may send again. */
  change(owner: string, by: 1 | -1): boolean
  /** Owners at their limit. */
  full(): readonly string[]
}

/** Makes shares of at most `most()` deliveries for each owner. */
export function createShares(most: () => number): Shares {
  const loads = new Map<string, number>()
  const full = new Set<string>()
  return {
    change(owner, by) {
      const load = (loads.get(owner) ?? 0) + by
      if (load === 0) loads.delete(owner)
      else loads.set(owner, load)
      if (load >= most()) full.add(owner)
      // The gap between the two limits keeps a busy owner from causing a claim for each delivery.
      else if (load <= most() / 2) return full.delete(owner)
      return false
    },
    full: () => [...full],
  }
}
