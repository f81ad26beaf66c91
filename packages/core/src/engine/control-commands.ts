import type { ApprovalStep } from '../approval.ts'
import type { HoldName, Policy } from '../policy.ts'
import type { AuditQuery, AuditRecord, ChainedEntry } from '../ports/audit.ts'
import type { ControlNote, HeldState, Hold } from '../ports/holds.ts'
import type { PolicyVersion } from '../ports/policies.ts'
import type { OperatorNote } from '../ports/safety.ts'
import type { AnsweredScreening, ScreeningResult } from '../ports/screening.ts'
import type { AuditVerdict } from './audit-chain.ts'

/** An approval of a transfer. The host knows who somebody is and which roles they have; the engine does not. */
export interface ApproveOptions {
  readonly actor: string
  /** The roles that the actor has. Default: none, which is enough where a policy names none. */
  readonly roles?: readonly string[] | undefined
  readonly note?: string | undefined
}

/** Who releases a transfer, why, and which hold that ends. */
export interface ReleaseNote extends OperatorNote {
  /** Default: `operator`, the hold that people put on it. One for approval ends by `approve`. */
  readonly hold?: Exclude<HoldName, 'approval'> | undefined
  /** The policy that holds it: with `limit`, and with `screening` where that has one. */
  readonly policy?: string | undefined
  /** Since when that hold is there, as `holds` has it: another hold, which somebody has put in its place meanwhile, is refused with `conflict`. Default: whichever there is. */
  readonly since?: string | undefined
}

/** A later answer about a transfer that screening holds, who gives it, and why. */
export interface ScreeningDecision extends ControlNote {
  readonly result: ScreeningResult
  /** The case that it is about. A pass names the one that holds the transfer. */
  readonly case?: string | undefined
  /** That of the hold that it is an answer to, as `holds` shows it: then a pass needs no case, and any answer is refused where a newer one holds the transfer. */
  readonly asks?: number | undefined
}

/** What became of an approval. */
export interface ApprovalResult {
  /** True when nothing holds the transfer any more: it is sent after the commit. */
  readonly released: boolean
  /** What still holds it. */
  readonly holds: readonly Hold[]
  /** The approvals that are missing, one step for each. */
  readonly missing: readonly ApprovalStep[]
}

/** Commands and reads of transfers that are held. */
export interface HeldTransfers<Tx> {
  /**
   * Approves a held transfer. With the last approval that its policies ask for, and when nothing else holds it, it is sent. Where none is missing any more, it
   * is released, and no approval is written.
   * @throws OutlayError `missing_field`, `invalid_request` with the field, before any SQL; `transfer_not_found`; `conflict` when no approval of it is
   *   asked for; `approval_refused` when the actor created it, has approved all that the roles may, or has no role that is missing or due
   */
  approve(tx: Tx, transferId: string, approval: ApproveOptions): Promise<ApprovalResult>
  /**
   * Ends a held transfer: it is `canceled` with the reason `rejected`. Its key stays its own.
   * @throws OutlayError `missing_field`, `invalid_request` with the field, before any SQL; `transfer_not_found`; `conflict` when it is not held;
   *   `transfer_not_cancelable` when its money may have moved
   */
  reject(tx: Tx, transferId: string, note: ControlNote): Promise<void>
  /**
   * Holds a transfer until somebody releases it. False when an operator holds it already: `holds` says who. There is one such hold, and whoever releases it
   * lets the transfer go; the audit has that somebody else wanted it held, too.
   * @throws OutlayError `missing_field`, `invalid_request` with the field, before any SQL; `transfer_not_found`; `conflict` when it may have been claimed
   *   by a worker, at this very moment too, or when it has ended
   */
  hold(tx: Tx, transferId: string, note: ControlNote): Promise<boolean>
  /**
   * Takes an answer that comes later than the call of the screener, such as by a webhook of the provider, in the host's transaction. `pass` ends
   * what screening holds, `refuse` ends the transfer as `canceled` with the reason `screening_refused`, and `hold` keeps it with another case. Each
   * answer is stored; `isCounted` is false where it changed nothing, since screening holds the transfer no more.
   * @throws OutlayError `missing_field`, `invalid_request` with the field, before any SQL; `transfer_not_found`; `conflict` with the field `asks`
   *   when a newer answer holds the transfer than the one of `asks`; and for a pass `conflict` with the field `case` when it names another case than the one that holds the transfer, or before there is one; `conflict` after its `expiresAt`;
   *   `approval_refused` when the actor created it
   */
  answerScreening(tx: Tx, transferId: string, decision: ScreeningDecision): Promise<AnsweredScreening>
  /** What holds a transfer, and who has approved it; `undefined` when it does not exist. */
  holds(transferId: string, tx?: Tx): Promise<(HeldState & { readonly missing: readonly ApprovalStep[] }) | undefined>
}

/** Rules about money, as rows: what is enqueued is held or refused by them. */
export interface Policies<Tx> {
  /**
   * Replaces all policies in the host's transaction; every version is kept. They hold for each enqueue that begins after the commit, in every process. What was
   * enqueued before keeps the holds that it has. Returns the number of the version.
   * @throws OutlayError `invalid_request`, `missing_field` with the field, before any SQL; `conflict` when the policies are not those of
   *   `expectedVersion`
   */
  set(
    tx: Tx,
    policies: readonly Policy[],
    note: ControlNote & {
      /** The version that these replace: another one is refused. Default: any. */
      readonly expectedVersion?: number | undefined
      /** True with an empty list, which ends all policies; an empty one without it is refused. */
      readonly clear?: boolean | undefined
    },
  ): Promise<{ readonly version: number }>
  /** The policies, as the transaction sees them if there is one, or an earlier version; `undefined` for a version that there is not. */
  get(options?: {
    readonly version?: number | undefined
    readonly tx?: Tx | undefined
  }): Promise<PolicyVersion | undefined>
  /**
   * Makes the indexes that `newCounterparty` and `lookalike` need, once for a database; `set` refuses such policies before. They are made beside everything else, so that
   * nobody waits, and from then on each transfer costs a little more. For a login that may migrate.
   */
  prepare(): Promise<void>
}

/** Who did what: entries that are written with each command, and never changed. */
export interface Audit<Tx> {
  /** Entries, the newest first. Default: 50 of them, at most 1000. */
  list(query?: Partial<AuditQuery>, tx?: Tx): Promise<readonly AuditRecord[]>
  /**
   * Compares every entry with the chain of hashes that workers make of committed entries: it shows one that was changed, added or removed. Keep the
   * `anchor` where who may change the database has no access, and give it to a later comparison: only so it shows a chain that was made anew, or whose
   * end was cut off. What was committed in the last seconds is added to the chain first, where the role may do that.
   * @throws OutlayError `invalid_request` with the field for an anchor that cannot be one
   */
  verify(options?: {
    readonly anchors?: readonly string[] | undefined
    readonly signal?: AbortSignal | undefined
  }): Promise<AuditVerdict>
  /** The entries of the chain in their order, behind a position. As JSON they have what `list` has. */
  chain(options?: {
    /** Default 0. */
    readonly after?: number | undefined
    readonly signal?: AbortSignal | undefined
  }): AsyncIterable<ChainedEntry>
}
