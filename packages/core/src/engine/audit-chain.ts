import { OutlayError } from '../error.ts'
import { type Digest, pureDigest } from '../idempotency.ts'
import type { AuditPort, ChainEnd, ChainedEntry } from '../ports/audit.ts'

/**
 * What is wrong with the audit.
 *
 * - `edited`: an entry is not the one whose hash the chain has
 * - `deleted`: the chain has an entry that is not there, or a gap
 * - `inserted`: an entry is not in the chain, which has what its transaction wrote
 * - `unchained`: an entry is not in the chain, and cannot be added; a session may keep the chain locked, and what is not in it can be changed unseen
 * - `cut_off`: the chain ends before an anchor, or before its own end
 * - `rewritten`: the chain has another hash than an anchor
 */
export interface AuditProblem {
  readonly kind: 'edited' | 'deleted' | 'inserted' | 'unchained' | 'cut_off' | 'rewritten'
  /** Place in the chain; null for an entry that is not in it. */
  readonly position: number | null
  /** Id of the entry, where there is one. */
  readonly id: string | null
}

/** What a comparison of the audit with its chain has found. */
export interface AuditVerdict {
  /** True when nothing is wrong. */
  readonly intact: boolean
  /** Entries that were compared. */
  readonly entries: number
  /** The end of the chain, as `position:hash`, to keep elsewhere; null where nothing is in it. */
  readonly anchor: string | null
  /** What is wrong, at most a hundred. */
  readonly problems: readonly AuditProblem[]
}

/** Entries on a page, and in one step of the chain. */
const pageSize = 1_000

/** Most problems in a verdict. */
const mostProblems = 100

interface Anchor {
  readonly position: number
  readonly hash: string
}

function readAnchor(text: unknown, field: string): Anchor {
  const [, position, hash] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(String(text)) ?? []
  if (position !== undefined && hash !== undefined) return { position: Number(position), hash }
  const message = 'must be as verify returned it, a position, a colon and 64 hexadecimal digits'
  throw OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
}

/** Reads the anchors of a comparison; throws `invalid_request` with the index. */
export const readAnchors = (anchors: readonly unknown[]): readonly Anchor[] =>
  anchors.map((one, at) => readAnchor(one, `anchors.${at}`))

/** Adds what is committed to the chain. */
async function extendChain(backend: Pick<AuditPort<never>, 'chainAudit'>, signal?: AbortSignal): Promise<void> {
  while ((await backend.chainAudit(pageSize)) === pageSize) signal?.throwIfAborted()
}

/**
 * Adds what is committed to the chain, and returns the ids of what is not in it afterwards although it was committed before. Somebody else may be adding it
 * just now, so it waits for that once.
 */
export async function chainAll(
  backend: Pick<AuditPort<never>, 'chainAudit' | 'readUnchained' | 'awaitChain'>,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const waiting = await backend.readUnchained()
  await extendChain(backend, signal)
  if (waiting.length === 0) return []
  const left = await backend.readUnchained(waiting)
  if (left.length === 0) return []
  signal?.throwIfAborted()
  await backend.awaitChain()
  await extendChain(backend, signal)
  return backend.readUnchained(left)
}

/** The entries of the chain behind a position, page by page. */
export async function* readEntries(
  backend: Pick<AuditPort<never>, 'readChain'>,
  after: number,
  signal?: AbortSignal,
): AsyncGenerator<ChainedEntry> {
  let position = after
  for (;;) {
    signal?.throwIfAborted()
    const page = await backend.readChain(position, pageSize)
    yield* page
    position = page.at(-1)?.position ?? position
    if (page.length < pageSize) return
  }
}

/** The same, with what was committed until the first of them is read. */
export async function* readFresh(
  backend: Pick<AuditPort<never>, 'chainAudit' | 'readChain'>,
  after: number,
  signal?: AbortSignal,
): AsyncGenerator<ChainedEntry> {
  await extendChain(backend, signal)
  yield* readEntries(backend, after, signal)
}

/** Compares each entry with the hash that the chain has of it, and the chain with its end and with anchors. `unchained` are entries that could not be added. */
export async function compareChain(
  entries: AsyncIterable<ChainedEntry>,
  end: ChainEnd | undefined,
  anchors: readonly Anchor[],
  digest: Digest = pureDigest,
  unchained: readonly string[] = [],
): Promise<AuditVerdict> {
  const problems: AuditProblem[] = []
  const note = (kind: AuditProblem['kind'], position: number | null, id: string | null = null) => {
    if (problems.length < mostProblems) problems.push({ kind, position, id })
  }
  const expected = new Map<number, Set<string>>()
  for (const { position, hash } of [...anchors, ...(end === undefined || end.position === 0 ? [] : [end])])
    expected.set(position, (expected.get(position) ?? new Set()).add(hash))
  let count = 0
  let last: Anchor = { position: 0, hash: '' }
  for await (const { position, id, hash, text } of entries) {
    count += 1
    const isNext = position === last.position + 1
    if (!isNext) note('deleted', last.position + 1)
    if (text === null) note('deleted', position, id)
    else if (isNext && digest(`${last.hash}\n${text}`) !== hash) note('edited', position, id)
    if ([...(expected.get(position) ?? [])].some((one) => one !== hash)) note('rewritten', position, id)
    last = { position, hash }
  }
  for (const position of expected.keys()) if (position > last.position) note('cut_off', position)
  if (end === undefined && last.position > 0) note('cut_off', last.position + 1)
  const inserted = new Set(end?.unchained)
  for (const id of inserted) note('inserted', null, id)
  for (const id of unchained) if (!inserted.has(id)) note('unchained', null, id)
  const anchor = last.position === 0 ? null : `${last.position}:${last.hash}`
  return { intact: problems.length === 0, entries: count, anchor, problems }
}
