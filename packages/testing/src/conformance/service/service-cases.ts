import { accountCases } from './account-cases.ts'
import { addressCases } from './address-cases.ts'
import { authenticationCases } from './authentication-cases.ts'
import { automationCases } from './automation-cases.ts'
import { bankLinkCases } from './bank-link-cases.ts'
import { bothContractsCases } from './both-contracts-cases.ts'
import { eventCases } from './event-cases.ts'
import { financialInstitutionCases } from './financial-institution-cases.ts'
import { idempotencyCases } from './idempotency-cases.ts'
import type { ServiceConformanceOptions } from './options.ts'
import { publicDialectCases } from './public-dialect-cases.ts'
import type { ServiceCase } from './service-case.ts'
import { transferCases } from './transfer-cases.ts'
import { transferListCases } from './transfer-list-cases.ts'
import { transferProgressCases } from './transfer-progress-cases.ts'

/** Every case of the suite, in the order in which it runs. */
export const serviceCases: readonly ServiceCase[] = [
  ...authenticationCases,
  ...accountCases,
  ...addressCases,
  ...transferCases,
  ...transferListCases,
  ...transferProgressCases,
  ...automationCases,
  ...financialInstitutionCases,
  ...bankLinkCases,
  ...idempotencyCases,
  ...eventCases,
  ...bothContractsCases,
  ...publicDialectCases,
]

/** The cases that can be run with what the options give. */
export function selectServiceCases(options: ServiceConformanceOptions): readonly ServiceCase[] {
  const given = {
    simulations: options.simulations ?? false,
    second: options.second !== undefined,
    settled: options.settled ?? true,
    specification: options.dialect !== 'public',
    public: options.dialect === 'public',
  }
  return serviceCases.filter(({ needs }) => needs.every((need) => given[need]))
}
