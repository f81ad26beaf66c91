import type { Archived, ArchiveOptions } from '@outlay/core'
import { type NodeQuestions, runAll } from './node-answers.ts'
import { nodeUnavailable } from './node-reachability.ts'
import type { LimitedNode } from './shard-node.ts'
import { addUp, type ShardArchived } from './shard-sums.ts'

/** A step takes some tens of milliseconds, and this long where the disk is slow; a node without one for longer does not answer. */
const stalledMs = 120_000

/** Archives on all nodes at once. Each is asked first whether it is there, and given up when it makes no step any more. */
export async function archiveAll<Tx>(
  questions: NodeQuestions<LimitedNode<Tx>>,
  options: ArchiveOptions,
): Promise<ShardArchived> {
  const sums = new Map<string, Archived>()
  const { answers: nodes, missing } = await runAll(questions, (node) =>
    archiveAt(node, options, (sum) => {
      sums.set(node.name, sum)
      options.onProgress?.(addUp([...sums.values()]))
    }),
  )
  return { ...addUp(Object.values(nodes)), nodes, missing }
}

async function archiveAt<Tx>(
  { name, engine }: LimitedNode<Tx>,
  options: ArchiveOptions,
  onProgress: (sum: Archived) => void,
): Promise<Archived> {
  const given = new AbortController()
  const signal = options.signal === undefined ? given.signal : AbortSignal.any([options.signal, given.signal])
  const stalled = Promise.withResolvers<never>()
  const timer = setTimeout(() => stalled.reject(nodeUnavailable(name, `no step within ${stalledMs} ms`)), stalledMs)
  const archiving = engine.archive({
    ...options,
    signal,
    onProgress(sum) {
      timer.refresh()
      onProgress(sum)
    },
  })
  archiving.catch(() => undefined)
  try {
    return await Promise.race([archiving, stalled.promise])
  } finally {
    given.abort()
    clearTimeout(timer)
  }
}
