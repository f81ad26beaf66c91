import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as adapter from './adapter.ts'
import * as core from './index.ts'

describe('the package', () => {
  it('exports exactly these values', () => {
    expect(Object.keys(core).sort()).toEqual([
      'Account',
      'Address',
      'Amount',
      'Approval',
      'Automation',
      'BankAccount',
      'Counterparty',
      'FinancialInstitution',
      'Id',
      'IdempotencyKey',
      'Limits',
      'Metadata',
      'OutlayError',
      'Policy',
      'Quote',
      'SumLimit',
      'TransferFlow',
      'TransferReturn',
      'TransferStatus',
      'accountStatuses',
      'accountTransitions',
      'addressOwnerships',
      'addressStatuses',
      'addressTypes',
      'automationStatuses',
      'automationTransitions',
      'bankAccountTypes',
      'bech32Family',
      'canonicalJson',
      'createCatalog',
      'createEngine',
      'defaultCatalog',
      'defaultGateway',
      'defaultKeyLifetimeMs',
      'defaultTransferTypes',
      'defaultValueTypes',
      'errorCodes',
      'evaluatePolicies',
      'eventOfChange',
      'eventTypes',
      'families',
      'financialInstitutionStatuses',
      'fingerprint',
      'holdNames',
      'isAdopted',
      'loginRequiredEventType',
      'obstacles',
      'parseAddressRegistration',
      'parseAutomationRequest',
      'parseExternalAddress',
      'parseLinkTokenRequest',
      'parseQuoteRequest',
      'parseRegisterAccountRequest',
      'parseTransferOrder',
      'parseTransferRequest',
      'policyDays',
      'quoteStatuses',
      'stageTransitions',
      'stages',
      'statusEvent',
      'statusEvents',
      'transferFlows',
      'transferStatuses',
      'transferTransitions',
      'tronFamily',
      'webhookEventTypes',
    ])
  })

  it('exports exactly these values to authors of backends and gateways', () => {
    expect(Object.keys(adapter).sort()).toEqual([
      'Column',
      'atGateway',
      'checkFlag',
      'checkNames',
      'checkNumbers',
      'checkText',
      'classifyAnswer',
      'defaultGateway',
      'demandCurrency',
      'foreignLogger',
      'foreignRuntime',
      'foreignTelemetry',
      'instruments',
      'longestTimerMs',
      'momentOf',
      'readGatewayAccount',
      'readPaid',
      'refuseUnread',
      'retryDelayMs',
      'rowDecoder',
      'spelledTwice',
      'timerRange',
    ])
  })

  it.each(['index.ts', 'adapter.ts'])('keeps the list of files of %s sorted', (entry) => {
    const text = readFileSync(join(import.meta.dirname, entry), 'utf8')
    const files = [...text.matchAll(/from '(.+)\.ts'/g)].map(([, file]) => file ?? '')
    expect(files).toEqual([...files].sort())
  })

  it('keeps its limits frozen', () => {
    expect(Object.isFrozen(core.Limits)).toBe(true)
    expect(core.Limits.cantonAcceptanceMs).toBe(259_200_000)
  })
})
