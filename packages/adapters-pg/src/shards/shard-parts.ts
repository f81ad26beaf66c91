import type { NodeQuestions } from './node-answers.ts'
import type { NodeGuard } from './node-guard.ts'
import type { LimitedNode } from './shard-node.ts'
import type { ShardRouting } from './shard-routing.ts'

/** What the commands of all nodes use. */
export interface ShardParts<Tx> {
  readonly routing: ShardRouting<Tx>
  readonly questions: NodeQuestions<LimitedNode<Tx>>
  readonly guard: NodeGuard<Tx>
}
