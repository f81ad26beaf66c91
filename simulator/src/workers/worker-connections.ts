import type { Pool } from 'pg'
import type { Environment } from '../environment/environment.ts'
import type { FaultyConnections } from '../environment/faulty-connections.ts'
import type { HostDatabase } from '../environment/host-database.ts'

/** A database of hosts as one worker has it. */
export interface WorkerNode {
  readonly name: string
  /** What its host shares with the engine. */
  readonly pool: Pool
  /** Reads the same past whatever befalls the worker. */
  readonly host: Pool
}

/** Connections of one worker: its own, which can be cut, or those that many use. */
export interface WorkerConnections {
  readonly nodes: readonly [WorkerNode, ...WorkerNode[]]
  /** The database of the directory, where there are several nodes. */
  readonly directory: Pool | undefined
  /** Breaks every one that is its own. */
  cut(): void
  giveBack(): Promise<void>
}

/** Connects a worker with every database. */
export function connectWorker(
  { nodes, system }: Pick<Environment, 'nodes' | 'system'>,
  { isSteady = false, works = true }: { readonly isSteady?: boolean; readonly works?: boolean },
): WorkerConnections {
  const endings: (() => Promise<void>)[] = []
  const cuts: (() => void)[] = []
  const open = (connections: FaultyConnections): Pool => {
    const own = connections.open()
    cuts.push(own.cut)
    endings.push(() => connections.giveBack(own))
    return own.pool
  }
  const connect = ({ name, connections, host, office, steady }: HostDatabase): WorkerNode => {
    const common = works ? steady : office
    return { name, host, pool: isSteady ? common : open(connections) }
  }
  const [first, ...others] = nodes
  return {
    nodes: [connect(first), ...others.map(connect)],
    directory: system === undefined || isSteady ? system?.directory : open(system.connections),
    cut: () => {
      for (const cut of cuts) cut()
    },
    async giveBack() {
      await Promise.all(endings.map((end) => end()))
    },
  }
}
