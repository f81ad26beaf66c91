/** What deploy/ has for monitoring, by path. */
import { writeAlertTests } from './alert-tests.ts'
import { writeRules } from './alerts.ts'
import { type Dashboard, makeDashboard } from './dashboards.ts'
import { engineMetrics, serviceMetrics } from './metrics.ts'

/** The two dashboards. */
export const dashboards: readonly Dashboard[] = [
  makeDashboard({
    uid: 'outlay-engine',
    title: 'Outlay engine',
    description: 'Transfers on their way, attempts, handlers and the requests to the service.',
    presence: 'outlay_transfer_backlog',
    metrics: engineMetrics,
  }),
  makeDashboard({
    uid: 'outlay-service',
    title: 'Outlay service',
    description: 'Requests, webhooks and the exceptions of rails of a money-movement service.',
    presence: 'http_server_request_duration_count',
    metrics: serviceMetrics,
  }),
]

/** Writes every file. */
export function writeMonitoring(): ReadonlyMap<string, string> {
  return new Map([
    ...dashboards.map((one) => [`deploy/grafana/${one.uid}.json`, `${JSON.stringify(one, null, 2)}\n`] as const),
    ['deploy/prometheus/alerts.yaml', writeRules()],
    ['deploy/prometheus/alerts.test.yaml', writeAlertTests()],
  ])
}
