/** Limits of a batch. */
export interface BatchOptions {
  /** Maximum number of items per run. */
  readonly maxSize: number
  /** How long the first item of a batch waits for others, in milliseconds. */
  readonly waitMs: number
}

/**
 * Makes a function of one item from a function of many. Simultaneous calls share one run.
 *
 * `work` answers in the order of its items. When it rejects, every call of that run rejects.
 */
export function batch<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  options: BatchOptions,
): (item: Item) => Promise<Result> {
  let waiting: { readonly item: Item; readonly settle: PromiseWithResolvers<Result> }[] = []
  let timer: NodeJS.Timeout | undefined

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    const calls = waiting
    waiting = []
    work(calls.map(({ item }) => item)).then(
      (results) => {
        for (const [index, { settle }] of calls.entries()) settle.resolve(results[index] as Result)
      },
      (error) => {
        for (const { settle } of calls) settle.reject(error)
      },
    )
  }

  return (item) => {
    const settle = Promise.withResolvers<Result>()
    waiting.push({ item, settle })
    if (waiting.length >= options.maxSize) flush()
    else timer ??= setTimeout(flush, options.waitMs)
    return settle.promise
  }
}
