import type { Archived, ArchiveOptions } from '@outlay/core'
import type { MissingNode, NodeQuestions } from './node-answers.ts'
import { nodeError, nodeUnavailable } from './node-reachability.ts'
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
  const alive = await questions.askAll(async (node) => {
    await node.driver.run('select 1')
    return node
  })
  const nodes: Record<string, Archived> = {}
  const missing: MissingNode[] = [...alive.missing]
  await Promise.all(
    Object.values(alive.answers).map(async (node) => {
      const onProgress = (sum: Archived) => {
        sums.set(node.name, sum)
        options.onProgress?.(addUp([...sums.values()]))
      }
      try {
        nodes[node.name] = await archiveAt(node, options, onProgress)
      } catch (error) {
        missing.push({ node: node.name, error: nodeError(node.name, error) })
      }
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
