/** Most facts that are remembered. Of more, those that were seen first are seen anew. */
const mostKnown = 10_000

/** Makes the memory of what was logged in this process. Answers true for the first time of each id. */
export function createOnce(): (id: string) => boolean {
  const seen = new Set<string>()
  return (id) => {
    if (seen.has(id)) return false
    seen.add(id)
    const [oldest] = seen
    if (seen.size > mostKnown && oldest !== undefined) seen.delete(oldest)
    return true
  }
}
