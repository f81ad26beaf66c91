import type { ListPage, WorkHandlers } from '@outlay/core'
import type { Driver } from '../driver.ts'
import { inHurry } from '../hurry.ts'
import type { LookStore } from '../looks.ts'
import type { TransferStore } from '../transfers.ts'

/** What pages are taken with. */
export interface PageTakerOptions<Tx> {
  readonly driver: Driver<Tx>
  readonly transfers: TransferStore<Tx>
  readonly looks: LookStore
  readonly handlers: WorkHandlers<Tx>
  readonly onObserved: () => void
}

/** What a page came to. */
export interface TakenPage {
  /** Ids at the service of the submitted transfers that it has. */
  readonly met: ReadonlySet<string>
  /** How many of them were due for a look, or taken for one. */
  readonly due: number
  /** True when it has transfers of others that were not known yet. */
  readonly found: boolean
}

/**
 * Takes one page of an account's list: applies what it says of every transfer, due or not, and puts their next looks off, so
 * that no page is read again for what it has said already. `taken` are the ids of transfers that were taken for a look.
 */
export async function takePage<Tx>(
  options: PageTakerOptions<Tx>,
  accountId: string,
  { observations }: ListPage,
  taken: ReadonlySet<string> = new Set(),
): Promise<TakenPage> {
  const { driver, transfers, looks, handlers } = options
  if (observations.length === 0) return { met: new Set(), due: 0, found: false }
  const remoteIds = observations.map(({ remoteId }) => remoteId)
  const met = await looks.met(accountId, remoteIds)
  const { changed, found } = await inHurry(driver, (tx) =>
    transfers.take(tx, accountId, observations, handlers.rules, false),
  )
  if (changed > 0) options.onObserved()
  let due = 0
  const next = met.map((transfer) => {
    const isTaken = taken.has(transfer.transferId)
    if (isTaken || transfer.due) due += 1
    // Taking it has counted the look already.
    const count = transfer.looks + (transfer.due && !isTaken ? 1 : 0)
    const ms = handlers.nextLookMs({ accountId, transferType: transfer.transferType, looks: count })
    return { id: transfer.transferId, ms, looks: count, due: isTaken || transfer.due }
  })
  await looks.lookAfterPage(next)
  return { met: new Set(met.map(({ remoteId }) => remoteId)), due, found: found > 0 }
}
