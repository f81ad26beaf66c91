import type { Catalog } from '../catalog.ts'
import { OutlayError } from '../error.ts'
import { checkNames } from '../option-names.ts'
import type { LimitPort } from '../ports/limits.ts'
import { SumLimit } from '../sum-limit.ts'
import { checkControlNote } from './actors.ts'
import { isText } from './checked-text.ts'
import type { SumLimits } from './limit-commands.ts'

const refuse = (field: string, message: string): OutlayError =>
  OutlayError.fromIssues([{ field, code: 'invalid_request', message }])

const isVersion = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0

/** A list that is empty by mistake, as of a file that was not filled, would let all that is held go within seconds. */
function checkClear(count: number, clear: unknown): void {
  if (clear !== undefined && typeof clear !== 'boolean') throw refuse('clear', 'must be true or false')
  if (count === 0 && clear !== true)
    throw refuse('clear', 'must be true for an empty list: without limits all that they hold goes within seconds')
  if (count > 0 && clear === true) throw refuse('clear', `is for an empty list only; this one has ${count}`)
}

/** Sums in one answer, at most. */
const maxUses = 1_000

/** Creates the commands of limits on sums. */
export function createLimits<Tx>(backend: LimitPort<Tx>, catalog: Catalog): SumLimits<Tx> {
  return {
    async set(tx, given, note) {
      checkControlNote(note, ['expectedVersion', 'clear'])
      const { actor, reason, expectedVersion, clear } = note
      if (expectedVersion !== undefined && !isVersion(expectedVersion))
        throw refuse('expectedVersion', 'must be the number of a version')
      const limits = SumLimit.parseAll(given, catalog)
      checkClear(limits.length, clear)
      const before = await backend.lockLimits(tx)
      if (expectedVersion !== undefined && expectedVersion !== before.version) {
        const message = `The limits are of version ${before.version}, and not ${expectedVersion}; read them, and set them again.`
        throw new OutlayError('conflict', message, { field: 'expectedVersion' })
      }
      const version = before.version + 1
      const sums = SumLimit.sums(limits, catalog)
      const unknown = await backend.setLimits(tx, { version, limits, sums, actor, reason })
      if (unknown !== null) {
        const at = limits.findIndex(({ zone }) => zone === unknown)
        throw refuse(
          `${at}.zone`,
          `is ${unknown}, a time zone that the database does not know; give another name of it`,
        )
      }
      return { version }
    },
    async get(options = {}) {
      checkNames(options, ['version', 'tx'])
      const { version, tx } = options
      if (version !== undefined && !isVersion(version)) throw refuse('version', 'must be the number of a version')
      return backend.getLimits(version, tx)
    },
    async uses(options = {}) {
      checkNames(options, ['limit', 'most', 'tx'])
      const { limit, most = 100, tx } = options
      if (limit !== undefined && !isText(limit)) throw refuse('limit', 'must be the name of a limit')
      if (!Number.isInteger(most) || most < 1 || most > maxUses)
        throw refuse('most', `must be a whole number from 1 to ${maxUses}`)
      return backend.readLimitUses({ limit, most }, tx)
    },
  }
}
