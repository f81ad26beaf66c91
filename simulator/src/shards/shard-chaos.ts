import { setTimeout as delay } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import { seededRandom, waitUntil } from '@outlay/testing'
import { countJobs } from '../queue.ts'
import { openShardSite, type ShardSite } from './shard-site.ts'
import { judgeShards, type ShardVerdict } from './shard-verdict.ts'
import { startShardWriter } from './shard-writer.ts'
import { nodeNames } from './system.ts'

/** What a run is to do. */
export interface ShardChaosOptions {
  readonly seed: number
  /** No fault begins later than this, in milliseconds, but for one of each kind. */
  readonly faultsForMs: number
  /** Receives each fault when it is over. */
  readonly onFault: (detail: string) => void
}

/** What came of a run. */
export interface ShardChaosResult {
  readonly faults: readonly string[]
  /** Moves of accounts that ended, and for how long the longest of them paused its account, in milliseconds. */
  readonly moves: number
  readonly longestPauseMs: number
  readonly promised: number
  readonly verdict: ShardVerdict
  /** From the last fault until everything had come to its end. */
  readonly restMs: number
}

/** Accounts of the host, and its payouts a second. */
const size = { accounts: 6, payouts: 12 }

/** How long everything gets to come to its end after the last fault, in milliseconds. */
const restTimeoutMs = 600_000

/** How long a network is broken, in milliseconds. */
const brokenMs = { shortest: 1_500, longest: 12_000 }

type Draw = () => number

const pick = <T>(from: readonly T[], fraction: Draw): T => from[Math.floor(fraction() * from.length)] as T

const breakNetwork =
  (of: (site: ShardSite, fraction: Draw) => readonly [string, ShardSite['directoryNetwork']], how: 'cut' | 'stall') =>
  async (site: ShardSite, fraction: Draw): Promise<string> => {
    const [name, network] = of(site, fraction)
    const ms = Math.round(brokenMs.shortest + fraction() * (brokenMs.longest - brokenMs.shortest))
    network[how]()
    await delay(ms)
    network.heal()
    return `${name}, ${(ms / 1_000).toFixed(1)} s`
  }

const anyNode = (site: ShardSite, fraction: Draw) => {
  const { name, network } = pick(site.nodes, fraction)
  return [name, network] as const
}

const killOne = (of: (site: ShardSite) => ShardSite['workers']) => async (site: ShardSite, fraction: Draw) => {
  const program = pick(of(site), fraction)
  await program.kill()
  await delay(fraction() * 3_000)
  await program.revive()
  return program.name
}

/** Every kind of fault, by name: each happens, ends, and says whom it befell. */
const faultKinds = {
  node_crashed: async (site, fraction) => {
    const node = pick(site.nodes, fraction)
    await node.crash()
    return node.name
  },
  node_promoted: async (site, fraction) => {
    const node = pick(site.nodes, fraction)
    await node.failOver()
    return node.name
  },
  node_cut: breakNetwork(anyNode, 'cut'),
  node_silent: breakNetwork(anyNode, 'stall'),
  directory_cut: breakNetwork(({ directoryNetwork }) => ['directory', directoryNetwork], 'cut'),
  directory_silent: breakNetwork(({ directoryNetwork }) => ['directory', directoryNetwork], 'stall'),
  worker_killed: killOne(({ workers }) => workers),
  mover_killed: killOne(({ movers }) => movers),
} as const satisfies Record<string, (site: ShardSite, fraction: Draw) => Promise<string>>

/** Starts three servers as one system, moves accounts between them while payouts are made and faults happen, lets all end, and judges. */
export async function runShardChaos({ seed, faultsForMs, onFault }: ShardChaosOptions): Promise<ShardChaosResult> {
  const kinds = Object.keys(faultKinds) as (keyof typeof faultKinds)[]
  const { fraction } = seededRandom(seed)
  await using site = await openShardSite(seed, size.accounts)
  const writer = startShardWriter(site, seed, size.payouts)
  const faults: string[] = []
  const until = performance.now() + faultsForMs
  const waiting = [...kinds]
  while (waiting.length > 0 || performance.now() < until) {
    await delay(500 + fraction() * 1_500)
    const kind = waiting.shift() ?? pick(kinds, fraction)
    const detail = `${kind}: ${await faultKinds[kind](site, fraction)}`
    faults.push(detail)
    onFault(detail)
  }
  const endedAt = performance.now()
  await writer.stop()
  for (const mover of site.movers) await mover.stop()
  for (const { accountId } of site.customers) await finishMove(site, accountId)
  await comeToRest(site)
  const restMs = performance.now() - endedAt
  return {
    ...{ faults, restMs, moves: site.movedMs.length, promised: writer.promised.size },
    longestPauseMs: Math.max(0, ...site.movedMs),
    verdict: await judgeShards(site, writer.promised),
  }
}

/** Ends a move that its process has left half done, wherever it leads. */
async function finishMove({ office }: ShardSite, accountId: string): Promise<void> {
  let refusal: unknown
  await waitUntil(
    async () => {
      for (const to of nodeNames) {
        const moved = await office.shards.accounts.move(accountId, { to }).catch((error: unknown) => {
          if (!OutlayError.is(error)) throw error
          refusal = error
        })
        if (moved !== undefined) return true
      }
      return false
    },
    { timeoutMs: 120_000, describe: () => `the move of ${accountId} to end: ${refusal}` },
  )
}

async function comeToRest(site: ShardSite): Promise<void> {
  let left: unknown
  await waitUntil(
    async () => {
      const backlog = await site.office.shards.backlog()
      const jobs = await Promise.all(site.nodes.map(({ pool }) => countJobs(pool)))
      const { queued, submitting, awaitingFunds, submitted, blocked, undelivered, missing } = backlog
      left = { queued, submitting, awaitingFunds, submitted, blocked, undelivered, missing, jobs }
      const open = queued + submitting + awaitingFunds + submitted + blocked + undelivered + missing.length
      return open + jobs.reduce((sum, one) => sum + one, 0) === 0
    },
    { timeoutMs: restTimeoutMs, describe: () => `everything to end; what is left is ${JSON.stringify(left)}` },
  )
}
