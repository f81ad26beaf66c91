/** The alarms for Prometheus, with the doctor's thresholds and cures. */
import { limits } from '../../packages/cli/src/doctor/thresholds.ts'
import { cureOf, type Finding } from './cures.ts'

/** One alarm. */
export interface Alert {
  readonly alert: string
  readonly expr: string
  /** How long it has to hold, such as `5m`. */
  readonly for: string
  readonly severity: 'warning' | 'critical'
  readonly summary: string
  /** What to do, in the words of the doctor. */
  readonly runbook: string
  /** The code of the same finding in `outlay doctor`; null for what only the service knows. */
  readonly doctor: string | null
}

const seconds = (ms: number): number => ms / 1_000

function found(finding: Finding, alert: Omit<Alert, 'runbook' | 'doctor'>): Alert {
  const { code, cure } = cureOf(finding)
  return { ...alert, runbook: cure, doctor: code }
}

const subscription = '{{ $labels.outlay_subscription }}'

/** The jobs with an engine in deploy/prometheus/prometheus.yaml. Each is asked for: the service has an engine of its own, which would hide another's absence. */
const jobs = ['payroll', 'bank']

/** An event whose handler fails has waited for a quarter of an hour. */
const handlerFailsAfterS = 900

/** The longest pause between two runs of a handler that fails, and some more: a shorter window would see nothing in between. */
const longestRetry = '2h'

/**
 * Whether a counter has grown in a window, whose attributes are not all known when it begins: one that begins with its first failure has not
 * grown by it.
 */
const grown = (counter: string, by: string, window: string): string =>
  [
    `sum by (${by}) (increase(${counter}[${window}])) > 0`,
    ` or sum by (${by}) (${counter} unless ${counter} offset ${window}) > 0`,
  ].join('')

/** Of every engine. Gauges are the same in all of its processes. */
export const engineAlerts: readonly Alert[] = [
  found('no_workers', {
    alert: 'OutlayNoWorkers',
    expr: jobs.map((job) => `absent(outlay_transfer_unsubmitted_age{job="${job}"})`).join(' or '),
    for: '5m',
    severity: 'critical',
    summary:
      'No process of the engine of {{ $labels.job }} is scraped: either none runs, or none can read its database.',
  }),
  {
    alert: 'OutlayGaugesUnread',
    // The same in all processes, so the newest one counts.
    expr: 'min by (job, outlay_gauge) (outlay_gauge_age) > 300',
    for: '1m',
    severity: 'critical',
    summary:
      'The gauge {{ $labels.outlay_gauge }} was last read {{ $value | humanizeDuration }} ago: alarms that need it are blind.',
    runbook:
      'Run "outlay doctor", which asks the same database, and read pg_stat_activity: a count of very many transfers takes long, and a lock or an outage keeps all gauges from being read.',
    doctor: null,
  },
  found('blocked', {
    alert: 'OutlayTransfersBlocked',
    expr: 'max by (job) (outlay_transfer_backlog{outlay_stage="blocked"}) > 0',
    for: '1m',
    severity: 'critical',
    summary: '{{ $value }} transfers wait for the decision of a person.',
  }),
  ...(['warning', 'serious'] as const).map((grade) =>
    found('workers_behind', {
      alert: grade === 'warning' ? 'OutlayWorkersBehind' : 'OutlayWorkersFarBehind',
      expr: `max by (job) (outlay_transfer_unsubmitted_age) > ${seconds(limits.dueMs[grade])}`,
      for: '1m',
      severity: grade === 'warning' ? 'warning' : 'critical',
      summary: 'The oldest transfer that is due has waited for {{ $value | humanizeDuration }}.',
    }),
  ),
  found('outcome_unknown', {
    alert: 'OutlayOutcomesUnknown',
    expr: 'sum by (job) (increase(outlay_submit_outcomes_total{outlay_outcome="unknown"}[10m])) > 0',
    for: '10m',
    severity: 'warning',
    summary: 'Attempts end without a known outcome. The engine sends the same keys again.',
  }),
  found('credentials_refused', {
    alert: 'OutlayCredentialsRefused',
    expr: 'sum by (job) (increase(outlay_submit_outcomes_total{outlay_outcome="unauthorized"}[10m])) > 0',
    for: '0m',
    severity: 'critical',
    summary: 'The service refuses credentials, so transfers wait.',
  }),
  found('awaiting_funds', {
    alert: 'OutlayAwaitingFunds',
    // A scrape that is missing would begin a `for` of a day again, and so would a roll-out.
    expr: [
      'min_over_time(max by (job) (outlay_transfer_backlog{outlay_stage="awaiting_funds"})[1d:5m]) > 0',
      ' and on (job) max by (job) (max_over_time(outlay_transfer_backlog{outlay_stage="awaiting_funds"}[1h] offset 23h)) > 0',
    ].join(''),
    for: '5m',
    severity: 'warning',
    summary: '{{ $value }} transfers await funds, or more, and some did all day.',
  }),
  ...(['warning', 'serious'] as const).map((grade) =>
    found('subscription_lag', {
      alert: grade === 'warning' ? 'OutlaySubscriptionLag' : 'OutlaySubscriptionFarBehind',
      expr: `max by (job, outlay_subscription) (outlay_subscription_lag) > ${seconds(limits.lagMs[grade])}`,
      for: '1m',
      severity: grade === 'warning' ? 'warning' : 'critical',
      summary: `The subscription "${subscription}" is {{ $value | humanizeDuration }} behind.`,
    }),
  ),
  found('failing_handler', {
    alert: 'OutlayHandlerFails',
    expr: [
      `max by (job, outlay_subscription) (outlay_subscription_lag) > ${handlerFailsAfterS}`,
      ` and on (job, outlay_subscription) (${grown('outlay_handler_failures_total', 'job, outlay_subscription', longestRetry)})`,
    ].join(''),
    for: '1m',
    severity: 'warning',
    summary: `The handler of the subscription "${subscription}" fails, and an event has waited for it for {{ $value | humanizeDuration }}.`,
  }),
  found('dead_letters', {
    alert: 'OutlayDeadLetters',
    expr: 'max by (job, outlay_subscription) (outlay_subscription_dead_letters) > 0',
    for: '0m',
    severity: 'critical',
    summary: `{{ $value }} events of the subscription "${subscription}" are dead letters.`,
  }),
]

/** Of the service. */
export const serviceAlerts: readonly Alert[] = [
  {
    alert: 'OutlayRailExceptions',
    expr: 'max by (job, outlay_reason) (outlay_rail_exceptions_open) > 0',
    for: '1m',
    severity: 'critical',
    summary: '{{ $value }} facts of rails contradict what is known ({{ $labels.outlay_reason }}).',
    runbook:
      'Read the view rail_exception and decide about each fact: see "Exceptions of rails" in the guide to running the service.',
    doctor: null,
  },
  {
    alert: 'OutlayServiceErrors',
    expr: [
      'sum by (job) (rate(http_server_request_duration_count{http_response_status_code=~"5.."}[5m]))',
      ' / sum by (job) (rate(http_server_request_duration_count[5m])) > 0.05',
    ].join(''),
    for: '5m',
    severity: 'critical',
    summary: '{{ $value | humanizePercentage }} of the requests to the service are answered with an error of its own.',
    runbook:
      'Read /ready of its processes, which says whether the database answers, and the log, which has each request by its id.',
    doctor: null,
  },
  {
    alert: 'OutlayWebhooksFail',
    // Attempts at an endpoint that fails are soon half an hour apart.
    expr: [
      'sum by (job) (rate(outlay_webhook_delivery_duration_count{http_response_status_code!~"2.."}[1h]))',
      ' / sum by (job) (rate(outlay_webhook_delivery_duration_count[1h])) > 0.5',
    ].join(''),
    for: '15m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the deliveries of webhooks fail.',
    runbook:
      'Read the table webhook_endpoint, which has what fails now. Where all of them fail, see whether the network lets the service out.',
    doctor: null,
  },
]

/** Writes the rules as Prometheus reads them. JSON strings are YAML. */
export function writeRules(): string {
  const group = (name: string, alerts: readonly Alert[]) => [
    `  - name: ${name}`,
    '    rules:',
    ...alerts.flatMap(({ alert, expr, for: lasting, severity, summary, runbook, doctor }) => [
      `      - alert: ${alert}`,
      `        expr: ${JSON.stringify(expr)}`,
      `        for: ${lasting}`,
      '        labels:',
      `          severity: ${severity}`,
      '        annotations:',
      `          summary: ${JSON.stringify(summary)}`,
      `          runbook: ${JSON.stringify(runbook)}`,
      ...(doctor === null ? [] : [`          doctor: ${doctor}`]),
    ]),
  ]
  return [
    '# Written by `npx -y pnpm@12 monitoring` from scripts/monitoring; change it there.',
    'groups:',
    ...group('outlay-engine', engineAlerts),
    ...group('outlay-service', serviceAlerts),
    '',
  ].join('\n')
}
