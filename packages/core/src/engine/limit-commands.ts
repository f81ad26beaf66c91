import type { ControlNote } from '../ports/holds.ts'
import type { LimitUse, LimitVersion } from '../ports/limits.ts'
import type { SumLimit } from '../sum-limit.ts'

/** Limits on the sums that leave in an hour, a day or a month, as rows: a worker counts what it is about to send, and holds what is beyond them. */
export interface SumLimits<Tx> {
  /**
   * Replaces all limits in the host's transaction; every version is kept. They hold for each claim that begins after the commit, in every process. A limit counts
   * from then on; one whose name, currency, span, zone, keys and narrowing stay keeps what is counted, and a list of what has a sum each may change. What is held and
   * fits now goes some seconds later. Returns the number of the version.
   * @throws OutlayError `invalid_request`, `missing_field` with the field, `clear` for an empty list without that, before any SQL, but for a time zone that only the database does not know;
   *   `conflict` when the limits are not those of `expectedVersion`
   */
  set(
    tx: Tx,
    limits: readonly SumLimit[],
    note: ControlNote & {
      /** The version that these replace: another one is refused. Default: any. */
      readonly expectedVersion?: number | undefined
      /** True where the list is empty, which ends all limits: what they hold goes some seconds later. Any other list is refused with it. */
      readonly clear?: boolean | undefined
    },
  ): Promise<{ readonly version: number }>
  /** The limits, as the transaction sees them if there is one, or an earlier version; `undefined` for a version that there is not. */
  get(options?: {
    readonly version?: number | undefined
    readonly tx?: Tx | undefined
  }): Promise<LimitVersion | undefined>
  /**
   * What is used in the hours, days and months of now: first those that hold what waits for a person, then those that hold anything, then those with the least left. A sum of which nothing was claimed is not in it.
   * @throws OutlayError `invalid_request` with the field
   */
  uses(options?: {
    /** Name of a limit. Default: all. */
    readonly limit?: string | undefined
    /** Sums, from 1 to 1000. Default 100. */
    readonly most?: number | undefined
    readonly tx?: Tx | undefined
  }): Promise<readonly LimitUse[]>
}
