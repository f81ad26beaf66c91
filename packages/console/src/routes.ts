import { accountRoutes } from './accounts/routes.ts'
import { auditRoutes } from './audit/routes.ts'
import { batchRoutes } from './batches/routes.ts'
import { gatewayRoutes } from './gateways/routes.ts'
import { limitRoutes } from './limits/routes.ts'
import { operationRoutes } from './operations/routes.ts'
import { policyChecks } from './policies/check.ts'
import { policyRoutes } from './policies/routes.ts'
import { policyTrials } from './policies/trial.ts'
import type { Route } from './routing/route.ts'
import { statsRoutes } from './stats/routes.ts'
import { subscriptionRoutes } from './subscriptions/routes.ts'
import { transferActions } from './transfers/actions.ts'
import { approvalRoutes } from './transfers/approvals.ts'
import { bulkActions } from './transfers/bulk.ts'
import { transferFiles } from './transfers/csv.ts'
import { transferReads } from './transfers/reads.ts'

/** Every route of the API, in the order of the document. Where two fit a path, the first is meant. */
export const routes = [
  ...operationRoutes,
  ...transferReads,
  ...transferActions,
  ...bulkActions,
  ...accountRoutes,
  ...batchRoutes,
  ...policyRoutes,
  ...auditRoutes,
  ...subscriptionRoutes,
  ...statsRoutes,
  ...gatewayRoutes,
  ...transferFiles,
  ...approvalRoutes,
  ...policyTrials,
  ...policyChecks,
  ...limitRoutes,
] as const satisfies readonly Route[]
