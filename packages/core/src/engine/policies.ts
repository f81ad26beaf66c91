import type { Catalog } from '../catalog.ts'
import { OutlayError } from '../error.ts'
import { checkNames } from '../option-names.ts'
import { Policy } from '../policy.ts'
import type { AuditPort } from '../ports/audit.ts'
import type { PolicyPort } from '../ports/policies.ts'
import type { Runtime } from '../ports/runtime.ts'
import { checkControlNote } from './actors.ts'
import { chainAll, compareChain, readAnchors, readEntries, readFresh } from './audit-chain.ts'
import { isText } from './checked-text.ts'
import { isKnowable } from './commands.ts'
import type { Audit, Policies } from './control-commands.ts'

const refuse = (field: string, message: string): OutlayError =>
  OutlayError.fromIssues([{ field, code: 'invalid_request', message }])

const isVersion = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0

/** A list that is empty by mistake, as of a file that was not filled, would let everything pass. */
function checkClear(count: number, clear: unknown): void {
  if (clear !== undefined && typeof clear !== 'boolean') throw refuse('clear', 'must be true or false')
  if (count === 0 && clear !== true)
    throw refuse('clear', 'must be true for an empty list: without policies nothing is held or refused any more')
  if (count > 0 && clear === true) throw refuse('clear', `is for an empty list only; this one has ${count}`)
}

/** Creates the commands of policies. */
export function createPolicies<Tx>(backend: PolicyPort<Tx>, catalog: Catalog): Policies<Tx> {
  return {
    async set(tx, given, note) {
      checkControlNote(note, ['expectedVersion', 'clear'])
      const { actor, reason, expectedVersion, clear } = note
      if (expectedVersion !== undefined && !isVersion(expectedVersion))
        throw refuse('expectedVersion', 'must be the number of a version')
      const policies = Policy.parseAll(given, catalog)
      checkClear(policies.length, clear)
      await checkPrepared(backend, tx, policies)
      const before = await backend.lockPolicies(tx)
      if (expectedVersion !== undefined && expectedVersion !== before.version) {
        const message = `The policies are of version ${before.version}, and not ${expectedVersion}; read them, and set them again.`
        throw new OutlayError('conflict', message, { field: 'expectedVersion' })
      }
      const version = before.version + 1
      if (!(await backend.setPolicies(tx, { version, policies, actor, reason }))) {
        const message = `Somebody has set policies since this transaction took its snapshot, so it cannot see what it would replace; end it, read the policies, and set them in a new transaction.`
        throw new OutlayError('conflict', message)
      }
      return { version }
    },
    async get(options = {}) {
      checkNames(options, ['version', 'tx'])
      const { version, tx } = options
      if (version !== undefined && !isVersion(version)) throw refuse('version', 'must be the number of a version')
      return backend.getPolicies(version, tx)
    },
    prepare: () => backend.preparePolicies(),
  }
}

/** Without the indexes nothing is known of earlier transfers, so that everything would be held. */
async function checkPrepared<Tx>(backend: PolicyPort<Tx>, tx: Tx, policies: readonly Policy[]): Promise<void> {
  const [first, ...others] = Policy.findUnprepared(policies)
  if (first === undefined || (await backend.arePoliciesPrepared(tx))) return
  throw OutlayError.fromIssues([first, ...others])
}

/** Entries on a page of the audit, at most. */
const maxEntries = 1_000

/** Creates the reads of the audit. */
export function createAudit<Tx>(backend: AuditPort<Tx>, { digest }: Pick<Runtime, 'digest'>): Audit<Tx> {
  return {
    async verify(options = {}) {
      checkNames(options, ['anchors', 'signal'])
      const { anchors = [], signal } = options
      if (!Array.isArray(anchors)) throw refuse('anchors', 'must be a list of anchors')
      const given = readAnchors(anchors)
      const unchained = await chainAll(backend, signal)
      const end = await backend.readChainEnd()
      return compareChain(readEntries(backend, 0, signal), end, given, digest, unchained)
    },
    chain(options = {}) {
      checkNames(options, ['after', 'signal'])
      const { after = 0, signal } = options
      if (!isVersion(after)) throw refuse('after', 'must be a position, from 0 on')
      return readFresh(backend, after, signal)
    },
    async list(query = {}, tx) {
      checkNames(query, ['transferId', 'actor', 'command', 'cursor', 'limit'])
      const { transferId, actor, command, cursor, limit = 50 } = query
      if (transferId !== undefined && !isKnowable(transferId))
        throw refuse('transferId', 'must be the id of a transfer')
      for (const [name, text] of Object.entries({ actor, command })) {
        if (text !== undefined && !isText(text)) throw refuse(name, 'must be text that is not empty')
      }
      if (cursor !== undefined && !/^[1-9]\d{0,17}$/.test(cursor)) throw refuse('cursor', 'must be the id of an entry')
      if (!Number.isInteger(limit) || limit < 1 || limit > maxEntries)
        throw refuse('limit', `must be a whole number from 1 to ${maxEntries}`)
      return backend.readAudit({ transferId, actor, command, cursor, limit }, tx)
    },
  }
}
