/** Tests of the alarms for `promtool test rules`: what makes each of them fire, and a quiet engine and service that make none fire. */
import { type Alert, engineAlerts, serviceAlerts } from './alerts.ts'

/** What makes one alarm fire. */
interface Firing {
  readonly alert: string
  /** Series with their values, a minute apart, in the notation of promtool. */
  readonly series: Readonly<Record<string, string>>
  /** When it has to fire. */
  readonly at: string
  /** Labels of the alarm beside its severity. */
  readonly labels: Readonly<Record<string, string>>
  /** Its summary, as a person reads it. */
  readonly summary: string
}

const engine = { job: 'payroll' }
const books = { ...engine, outlay_subscription: 'books' }
const bank = { job: 'bank' }

const outcome = (name: string) => `outlay_submit_outcomes_total{job="payroll", instance="a", outlay_outcome="${name}"}`
const backlog = (stage: string) => `outlay_transfer_backlog{job="payroll", instance="a", outlay_stage="${stage}"}`
const gaugeAge = (instance: string) =>
  `outlay_gauge_age{job="payroll", instance="${instance}", outlay_gauge="outlay.transfer.backlog"}`
const age = 'outlay_transfer_unsubmitted_age{job="payroll", instance="a"}'
const ageOfBank = 'outlay_transfer_unsubmitted_age{job="bank", instance="a"}'
const ofBooks = (name: string) => `${name}{job="payroll", instance="a", outlay_subscription="books"}`
const requests = (status: number) =>
  `http_server_request_duration_count{job="bank", instance="a", http_response_status_code="${status}"}`
const deliveries = (status: number) =>
  `outlay_webhook_delivery_duration_count{job="bank", instance="a", http_response_status_code="${status}"}`
const openExceptions = 'outlay_rail_exceptions_open{job="bank", instance="a", outlay_reason="wrong_amount"}'

const firings: readonly Firing[] = [
  {
    alert: 'OutlayNoWorkers',
    series: { [age]: '0 _x60', [ageOfBank]: '0+0x60' },
    at: '20m',
    labels: engine,
    summary: 'No process of the engine of payroll is scraped: either none runs, or none can read its database.',
  },
  {
    alert: 'OutlayGaugesUnread',
    series: { [gaugeAge('a')]: '0+60x60', [gaugeAge('b')]: '0+30x60' },
    at: '20m',
    labels: { ...engine, outlay_gauge: 'outlay.transfer.backlog' },
    summary: 'The gauge outlay.transfer.backlog was last read 10m 0s ago: alarms that need it are blind.',
  },
  {
    alert: 'OutlayTransfersBlocked',
    series: { [backlog('blocked')]: '0 2+0x60' },
    at: '3m',
    labels: engine,
    summary: '2 transfers wait for the decision of a person.',
  },
  {
    alert: 'OutlayWorkersBehind',
    series: { [age]: '0+60x60' },
    at: '10m',
    labels: engine,
    summary: 'The oldest transfer that is due has waited for 10m 0s.',
  },
  {
    alert: 'OutlayWorkersFarBehind',
    series: { [age]: '0+60x60' },
    at: '40m',
    labels: engine,
    summary: 'The oldest transfer that is due has waited for 40m 0s.',
  },
  {
    alert: 'OutlayOutcomesUnknown',
    series: { [outcome('unknown')]: '0+1x60' },
    at: '30m',
    labels: engine,
    summary: 'Attempts end without a known outcome. The engine sends the same keys again.',
  },
  {
    alert: 'OutlayCredentialsRefused',
    // The one refusal of a young process: the counter has begun with 0.
    series: { [outcome('unauthorized')]: '0 1+0x60' },
    at: '2m',
    labels: engine,
    summary: 'The service refuses credentials, so transfers wait.',
  },
  {
    alert: 'OutlayAwaitingFunds',
    // A roll-out at noon.
    series: { [backlog('awaiting_funds')]: '3+0x700 _x10 3+0x800' },
    at: '1450m',
    labels: engine,
    summary: '3 transfers await funds, or more, and some did all day.',
  },
  {
    alert: 'OutlaySubscriptionLag',
    series: { [ofBooks('outlay_subscription_lag')]: '0+60x120' },
    at: '10m',
    labels: books,
    summary: 'The subscription "books" is 10m 0s behind.',
  },
  {
    alert: 'OutlaySubscriptionFarBehind',
    series: { [ofBooks('outlay_subscription_lag')]: '0+60x120' },
    at: '70m',
    labels: books,
    summary: 'The subscription "books" is 1h 10m 0s behind.',
  },
  {
    alert: 'OutlayHandlerFails',
    // It begins with its first failure, and the next one comes in an hour.
    series: {
      [`outlay_handler_failures_total{job="payroll", instance="a", outlay_subscription="books", error_type="Error"}`]:
        '_x5 1+0x100',
      [ofBooks('outlay_subscription_lag')]: '0+0x4 0+60x100',
    },
    at: '50m',
    labels: books,
    summary: 'The handler of the subscription "books" fails, and an event has waited for it for 45m 0s.',
  },
  {
    alert: 'OutlayDeadLetters',
    series: { [ofBooks('outlay_subscription_dead_letters')]: '0 1+0x60' },
    at: '2m',
    labels: books,
    summary: '1 events of the subscription "books" are dead letters.',
  },
  {
    alert: 'OutlayRailExceptions',
    series: { [openExceptions]: '0 4+0x60' },
    at: '5m',
    labels: { ...bank, outlay_reason: 'wrong_amount' },
    summary: '4 facts of rails contradict what is known (wrong_amount).',
  },
  {
    alert: 'OutlayServiceErrors',
    series: { [requests(201)]: '0+90x60', [requests(500)]: '0+10x60' },
    at: '30m',
    labels: bank,
    summary: '10% of the requests to the service are answered with an error of its own.',
  },
  {
    alert: 'OutlayWebhooksFail',
    // One endpoint, tried after five minutes and after half an hour.
    series: { [deliveries(500)]: '1+0x4 2+0x29 3+0x60' },
    at: '50m',
    labels: bank,
    summary: '100% of the deliveries of webhooks fail.',
  },
]

const quiet: Firing['series'] = {
  [age]: '200+0x60',
  [ageOfBank]: '0+0x60',
  [backlog('blocked')]: '0+0x60',
  [backlog('awaiting_funds')]: '3+0x60',
  [gaugeAge('a')]: '15+0x60',
  [gaugeAge('b')]: '0+60x60',
  [ofBooks('outlay_subscription_lag')]: '200+0x60',
  [ofBooks('outlay_subscription_dead_letters')]: '0+0x60',
  [ofBooks('outlay_handler_failures_total')]: '5+0x60',
  [outcome('unknown')]: '7+0x60',
  [outcome('accepted')]: '0+100x60',
  [requests(201)]: '0+100x60',
  [requests(500)]: '0+1x60',
  [requests(404)]: '0+50x60',
  [deliveries(200)]: '0+10x60',
  [deliveries(500)]: '0+1x60',
}

const alerts = [...engineAlerts, ...serviceAlerts]

/** Names of the alarms that have a test in which they fire. */
export const tested: readonly string[] = firings.map(({ alert }) => alert)

/** Writes the tests as promtool reads them. JSON is YAML. */
export function writeAlertTests(): string {
  const file = {
    rule_files: ['alerts.yaml'],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: seriesOf(quiet),
        alert_rule_test: alerts.map(({ alert }) => ({ eval_time: '50m', alertname: alert, exp_alerts: [] })),
      },
      ...firings.map((firing) => ({
        interval: '1m',
        input_series: seriesOf(firing.series),
        alert_rule_test: [{ eval_time: firing.at, alertname: firing.alert, exp_alerts: [expected(firing)] }],
      })),
    ],
  }
  return `# Written by \`npx -y pnpm@12 monitoring\` from scripts/monitoring. Run: promtool test rules alerts.test.yaml\n${JSON.stringify(file, null, 2)}\n`
}

const seriesOf = (series: Firing['series']) =>
  Object.entries(series).map(([name, values]) => ({ series: name, values }))

function expected({ alert, labels, summary }: Firing) {
  const rule = alerts.find((one) => one.alert === alert)
  if (rule === undefined) throw new Error(`There is no alarm ${alert}.`)
  return {
    exp_labels: { severity: rule.severity, ...labels },
    exp_annotations: { summary, runbook: filled(rule.runbook, labels), ...ofDoctor(rule) },
  }
}

const ofDoctor = ({ doctor }: Alert) => (doctor === null ? {} : { doctor })

const filled = (text: string, labels: Firing['labels']): string =>
  text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? '')
