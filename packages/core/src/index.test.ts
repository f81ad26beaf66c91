import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as core from './index.ts'

describe('the package', () => {
  it('exports exactly these values', () => {
    expect(Object.keys(core).sort()).toEqual([
      'Account',
      'Address',
      'Amount',
      'Automation',
      'BankAccount',
      'Counterparty',
      'FinancialInstitution',
      'Id',
      'IdempotencyKey',
      'Limits',
      'OutlayError',
      'TransferFlow',
      'TransferStatus',
      'accountStatuses',
      'accountTransitions',
      'addressStatuses',
      'addressTypes',
      'automationStatuses',
      'automationTransitions',
      'bankAccountTypes',
      'canonicalJson',
      'checkNumbers',
      'classifyAnswer',
      'createCatalog',
      'createEngine',
      'defaultCatalog',
      'defaultKeyLifetimeMs',
      'defaultTransferTypes',
      'defaultValueTypes',
      'errorCodes',
      'eventOfChange',
      'eventTypes',
      'families',
      'financialInstitutionStatuses',
      'fingerprint',
      'foreignTelemetry',
      'isAdopted',
      'loginRequiredEventType',
      'longestTimerMs',
      'matchesEventType',
      'parseAutomationRequest',
      'parseExternalAddress',
      'parseLinkTokenRequest',
      'parseRegisterAccountRequest',
      'parseTransferOrder',
      'parseTransferRequest',
      'retryDelayMs',
      'stageTransitions',
      'stages',
      'statusEvent',
      'statusEvents',
      'timerRange',
      'transferFlows',
      'transferStatuses',
      'transferTransitions',
      'webhookEventTypes',
    ])
  })

  it('keeps its list of files sorted', () => {
    const text = readFileSync(join(import.meta.dirname, 'index.ts'), 'utf8')
    const files = [...text.matchAll(/from '(.+)\.ts'/g)].map(([, file]) => file ?? '')
    expect(files).toEqual([...files].sort())
  })

  it('keeps its limits frozen', () => {
    expect(Object.isFrozen(core.Limits)).toBe(true)
    expect(core.Limits.cantonAcceptanceMs).toBe(259_200_000)
  })
})
