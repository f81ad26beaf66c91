import { Id } from '@outlay/core'
import pg from 'pg'

/** One line of the table. */
export interface Figure {
  readonly what: string
  readonly value: string
  /** Expected value; undefined for a figure that is reported and not checked. */
  readonly expected?: string | undefined
}

/** The databases to check, and the planned figures. */
export interface Plan {
  readonly hostUrl: string
  readonly serviceUrl: string
  readonly period: string
  readonly rolledBackPeriod: string
  /** Transfers that were enqueued and rolled back. */
  readonly rolledBackIds: readonly string[]
  /** Payslips in all. */
  readonly total: number
  readonly refused: number
  readonly returned: number
}

/** Reads every figure from the two databases; only the planned figures come from the memory of this process. */
export async function readReport(plan: Plan): Promise<readonly Figure[]> {
  const host = new pg.Client(plan.hostUrl)
  const service = new pg.Client(plan.serviceUrl)
  try {
    await Promise.all([host.connect(), service.connect()])
    const seen = await service.query<{ note: string; status: string; count: number }>(
      `select coalesce(note, '') as note, status, count(*)::int as count from outlay_service.transfer group by 1, 2`,
    )
    return [
      ...(await readPayslips(host, seen.rows, plan)),
      ...(await readRollback(host, service, plan)),
      ...(await readBooks(host, service, plan)),
    ]
  } finally {
    await Promise.all([host.end(), service.end()])
  }
}

/** Every payslip beside its transfer here and its transfers at the service, which carry its id in their note. */
const payslips = `
  with slip as (
    select p.id, p.status, p.settlements, p.awaited_funds_at, t.id as transfer_id, t.stage, t.remote_id,
           coalesce(s.count, 0) as sent, s.statuses
      from payslip p
      join payroll_run r on r.id = p.run_id and r.period = $1
      left join outlay.transfer t on t.id = p.transfer_id
      left join (
        select n.note, sum(n.count) as count, array_agg(n.status) as statuses
          from jsonb_to_recordset($2::jsonb) as n (note text, status text, count int)
         group by n.note
      ) s on s.note = r.period || ' ' || p.id
  )
  select count(*)::text as enqueued,
         count(*) filter (where status = 'paid' and statuses = '{complete}')::text as completed,
         count(*) filter (where status = 'refused')::text as refused,
         count(*) filter (where status = 'paid' and awaited_funds_at is not null)::text as waited,
         count(*) filter (where stage is distinct from 'settled' or not coalesce(
           (status = 'paid' and statuses = '{complete}')
             or (status = 'refused' and statuses = '{failed}')
             or (status = 'refused' and sent = 0 and remote_id is null), false))::text as lost,
         count(*) filter (where sent > 1 or settlements > 1)::text as twice
    from slip`

async function readPayslips(host: pg.Client, seen: readonly object[], plan: Plan): Promise<Figure[]> {
  const { rows } = await host.query<Record<string, string>>(payslips, [plan.period, JSON.stringify(seen)])
  const value = (name: string) => rows[0]?.[name] ?? 'unknown'
  const failing = plan.refused + plan.returned
  const waited = value('waited')
  return [
    { what: 'payslips committed with their payouts', value: value('enqueued'), expected: String(plan.total) },
    { what: 'completed', value: value('completed'), expected: String(plan.total - failing) },
    { what: 'waited for funds, then completed', value: waited, expected: waited === '0' ? 'more than 0' : waited },
    { what: 'lost', value: value('lost'), expected: '0' },
    { what: 'paid twice', value: value('twice'), expected: '0' },
    { what: 'refused', value: value('refused'), expected: String(failing) },
    ...(await readRefusals(host, plan)),
  ]
}

/** Refused payslips by reason. The service refuses a number it knows to be bad; the bank returns others with R03. */
async function readRefusals(host: pg.Client, plan: Plan): Promise<Figure[]> {
  const { rows } = await host.query<{ reason: string; count: string }>(
    `select p.reason, count(*)::text as count
       from payslip p join payroll_run r on r.id = p.run_id
      where r.period = $1 and p.status = 'refused' group by p.reason order by p.reason`,
    [plan.period],
  )
  const expected = new Map([
    ['R03', plan.returned],
    ['invalid_account_number', plan.refused],
  ])
  return rows.map(({ reason, count }) => ({
    what: `  ${reason}`,
    value: count,
    expected: String(expected.get(reason) ?? 0),
  }))
}

/** Remains of the rolled-back payroll: rows, jobs, transfers at the service. */
async function readRollback(host: pg.Client, service: pg.Client, plan: Plan): Promise<Figure[]> {
  const { rows: left } = await host.query<{ rows: string; jobs: string }>(
    `select ((select count(*) from payroll_run where period = $1)
             + (select count(*) from outlay.transfer where id = any ($2)))::text as rows,
            (select count(*) from outlay.queue_jobs() q where q.job = any ($3))::text as jobs`,
    [plan.rolledBackPeriod, plan.rolledBackIds, plan.rolledBackIds.map(Id.toUuid)],
  )
  const { rows: sent } = await service.query<{ count: string }>(
    `select count(*)::text as count from outlay_service.transfer where starts_with(note, $1)`,
    [plan.rolledBackPeriod],
  )
  return [
    { what: 'rolled back', value: String(plan.rolledBackIds.length) },
    { what: '  rows left of it', value: left[0]?.rows ?? 'unknown', expected: '0' },
    { what: '  jobs left of it', value: left[0]?.jobs ?? 'unknown', expected: '0' },
    { what: '  transfers of it at the service', value: sent[0]?.count ?? 'unknown', expected: '0' },
  ]
}

/** The money: the amount paid by the application, the amount that left the service, and whether the ledger balances. */
async function readBooks(host: pg.Client, service: pg.Client, plan: Plan): Promise<Figure[]> {
  const { rows: paid } = await host.query<{ total: string; unanswered: string }>(
    `select (select coalesce(sum(p.amount), 0) from payslip p join payroll_run r on r.id = p.run_id
              where r.period = $1 and p.status = 'paid')::numeric(20, 2)::text as total,
            (select count(*) from outlay.attempt where answered_at is null)::text as unanswered`,
    [plan.period],
  )
  const { rows: ledger } = await service.query<{ total: string; sums: string }>(
    `select (select coalesce(sum(amount_value), 0) from outlay_service.transfer where status = 'complete')
              ::numeric(20, 2)::text as total,
            (select string_agg(value_type || ' ' || trim_scale(sum), ', ') from (
               select value_type, sum(amount) from outlay_service.ledger_entry group by value_type order by value_type
             ) as v)::text as sums`,
  )
  return [
    { what: 'attempts that the killed worker left open', value: paid[0]?.unanswered ?? 'unknown' },
    {
      what: 'dollars paid, by both databases',
      value: paid[0]?.total ?? 'unknown',
      expected: ledger[0]?.total ?? 'known',
    },
    { what: 'sum of the ledger', value: ledger[0]?.sums ?? 'unknown', expected: 'USD 0, USDC 0' },
  ]
}

/** Prints the table, and returns the wrong figures. */
export function printReport(figures: readonly Figure[]): readonly Figure[] {
  const isWrong = ({ value, expected }: Figure) => expected !== undefined && value !== expected
  const widest = Math.max(...figures.map(({ what }) => what.length))
  for (const figure of figures) {
    const verdict = isWrong(figure) ? `  wrong, should be ${figure.expected}` : ''
    console.log(`       ${figure.what.padEnd(widest)}  ${figure.value.padStart(14)}${verdict}`)
  }
  return figures.filter(isWrong)
}
