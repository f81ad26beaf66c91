import { type CounterpartyDetails, Id, type ScreenedTransfer, type ScreeningAnswer } from '@outlay/core'
import { Column, rowDecoder, type ScreeningPort } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements, storableJson } from '../database/statement.ts'
import { readTransfer, transferColumns } from '../transfers/transfer-row.ts'

const texts = {
  lease_screenings:
    'select ids, to_jsonb(asks) as asks, next_after from {{schema}}.lease_screenings($1, $2, $3, $4::text[], $5::integer[], $6)',
  // What is blocked, about to end or in doubt after a restore is not asked about, and keeps its lease.
  screened: `select ${transferColumns}, s.failures,
      (select d.details from {{schema}}.counterparty_details d where d.transfer_id = t.id) as details,
      array(select h.policy from {{schema}}.hold h where h.transfer_id = t.id and h.name = 'screening' order by h.policy) as policies
    from {{schema}}.transfer t join {{schema}}.screening s on s.transfer_id = t.id
    where t.id = any ($1::text[]) and t.stage = 'held' and not s.on_hold and coalesce(t.expires_at > clock_timestamp(), true)
      and {{schema}}.effect_of(t) = 'none'`,
  answer_screenings: 'select {{schema}}.answer_screenings($1::jsonb, $2) as fates',
  answer_screening: 'select {{schema}}.answer_screening($1, $2::uuid, $3, $4::jsonb, $5) as became',
  fail_screening: `update {{schema}}.screening s
    set failures = s.failures + 1, failing_since = coalesce(s.failing_since, clock_timestamp()), last_error = $3::jsonb ->> 0,
      due_at = clock_timestamp() + $4::integer * interval '1 millisecond'
    where s.transfer_id = $1 and s.asks = $2 and not s.on_hold`,
  return_screenings: `update {{schema}}.screening s set due_at = clock_timestamp()
    from unnest($1::text[], $2::integer[]) as g (id, ask) where s.transfer_id = g.id and s.asks = g.ask and not s.on_hold`,
} as const

/** What became of an answer; `late` where it changed nothing, `locked` where somebody has locked the transfer and nothing is written. */
export type AnswerFate = 'released' | 'passed' | 'held' | 'refused' | 'late' | 'locked'

/** Which transfers are leased. */
export interface ScreeningLease {
  /** The account behind which the search goes on. */
  readonly after: string
  readonly limit: number
  /** Most of one account at once, with what is under way of it. */
  readonly mostEach: number
  readonly underWay: ReadonlyMap<string, number>
  readonly leaseMs: number
}

/** An answer of a call, and who made it. */
export interface GivenAnswer {
  readonly id: string
  readonly accountId: string
  /** The number of the call. */
  readonly ask: number
  readonly answer: ScreeningAnswer
  readonly by: string
}

/** A transfer that this worker asks about. */
export interface LeasedScreening extends ScreenedTransfer {
  /** Calls before this one, in a row, that gave no answer. */
  readonly failures: number
}

/** The store of screenings. */
export type ScreeningStore<Tx> = ReturnType<typeof createScreeningStore<Tx>>

/** Makes the store of screenings on a driver. */
export function createScreeningStore<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
  notifies = true,
) {
  const sql = statements(tokens, texts)
  const port: ScreeningPort<Tx> = {
    async answerScreening(tx, transferId, { by, ...answer }) {
      const values = [transferId, Id.toUuid(transferId), null, storableJson(answerOf(answer, by)), notifies]
      const fate = readFirst(readFate, await driver.execute(tx, sql.answer_screening, values))?.became ?? 'locked'
      return { isCounted: fate !== 'late' && fate !== 'locked', isReleased: fate === 'released' }
    },
  }
  return {
    port,
    /** Leases due transfers, from one account to the next; `next` is the last account that was read, undefined at the end. */
    async lease({ after, limit, mostEach, underWay, leaseMs }: ScreeningLease) {
      const values = [after, limit, mostEach, [...underWay.keys()], [...underWay.values()], leaseMs]
      const {
        ids = [],
        asks = [],
        nextAfter,
      } = readFirst(readLease, await driver.query(sql.lease_screenings, values)) ?? {}
      const rows = ids.length === 0 ? [] : await driver.query(sql.screened, [ids])
      const transfers = rows.map((row) => readScreened(row, asks[ids.indexOf(String(row['id']))] ?? 0))
      return { transfers, leased: ids.length, next: nextAfter ?? undefined }
    },
    /**
     * Writes answers of calls together and does what they say, without waiting for who has locked a transfer; returns in their order what
     * became of each. One answer about a transfer is written at once, another one about it is `locked`.
     */
    async answer(given: readonly GivenAnswer[]): Promise<readonly AnswerFate[]> {
      const answers = given.map(({ id, ask, answer, by }) => ({ id, ask, ...answerOf(answer, by) }))
      const rows = await driver.query(sql.answer_screenings, [storableJson(answers), notifies])
      return readFates(rows[0] ?? {}).fates
    },
    /** Notes that a call gave no answer, and when to ask again. */
    async fail(transferId: string, ask: number, error: string, pauseMs: number): Promise<void> {
      await driver.query(sql.fail_screening, [transferId, ask, storableJson([error]), Math.round(pauseMs)])
    },
    /** Lets others ask at once about transfers that this worker asks about no more. */
    async giveBack(transfers: readonly Pick<LeasedScreening, 'id' | 'ask'>[]): Promise<void> {
      if (transfers.length === 0) return
      await driver.query(sql.return_screenings, [transfers.map(({ id }) => id), transfers.map(({ ask }) => ask)])
    },
  }
}

const readLease = rowDecoder('screening', {
  ids: Column.texts,
  asks: Column.json<readonly number[]>(),
  nextAfter: Column.nullable(Column.text),
})
const readFate = rowDecoder('screening', { became: Column.word<AnswerFate>() })
const readFates = rowDecoder('screening', { fates: Column.words<AnswerFate>() })
const readBeside = rowDecoder('screening', {
  details: Column.nullable(Column.json<CounterpartyDetails['address']>()),
  policies: Column.texts,
  failures: Column.integer,
})

const answerOf = ({ result, case: named, note }: ScreeningAnswer, by: string) => ({
  result,
  case: named ?? null,
  note: note ?? null,
  by,
})

function readScreened(row: Row, ask: number): LeasedScreening {
  const { id, accountId, gateway, idempotencyKey, request, ...transfer } = readTransfer(row)
  const { metadata, createdBy, batchId, notBefore, expiresAt, createdAt } = transfer
  const { details, policies, failures } = readBeside(row)
  const times = { notBefore, expiresAt, createdAt }
  const beside = { counterparty: details ?? undefined, metadata, createdBy, batchId }
  return { id, accountId, gateway, idempotencyKey, request, ...beside, ...times, policies, ask, failures }
}
