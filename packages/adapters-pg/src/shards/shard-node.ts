import type { Engine } from '@outlay/core'
import type { Driver } from '../database/driver.ts'
import type { QuestionLimit } from './question-limit.ts'

/** One database with its engine: a part of the accounts. */
export interface ShardNode<Tx> {
  readonly name: string
  /** The engine of this database alone. Its enqueues refuse transactions of other nodes, too. */
  readonly engine: Engine<Tx>
  /** The way into this database through the host's library. */
  readonly driver: Driver<Tx>
}

/** A node with the limit of all that is asked of it. */
export interface LimitedNode<Tx> extends ShardNode<Tx> {
  readonly limit: QuestionLimit
}
