/** What waits for the commit of transactions, by their connections. */
const waiting = new WeakMap<object, (() => void)[]>()

/**
 * Does `work` once the transaction has committed, and never when it is rolled back. It is for what is said of a transaction, such as its log: before the
 * commit it may be wrong, and its locks would wait for the code of a host. What it throws is ignored. In a transaction that is not one of `inTransaction` it is done at once.
 */
export function afterCommit(tx: object, work: () => void): void {
  const works = waiting.get(tx)
  if (works === undefined) work()
  else works.push(work)
}

/** Begins a part of a transaction. Call the answer to forget what has begun to wait since. */
export function keepWithin(tx: object): () => void {
  const works = waiting.get(tx)
  const length = works?.length ?? 0
  return () => void works?.splice(length)
}

/** Begins to keep what waits for the commit of a transaction. The answer ends that; call it with true after the commit. */
export function keepUntilCommit(tx: object): (isCommitted: boolean) => void {
  const works: (() => void)[] = []
  waiting.set(tx, works)
  return (isCommitted) => {
    waiting.delete(tx)
    if (isCommitted) for (const work of works) tryTo(work)
  }
}

/** The transaction has taken effect, whatever is said of it. */
function tryTo(work: () => void): void {
  try {
    work()
  } catch {}
}
