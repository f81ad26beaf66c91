import type {
  FinancialInstitutionResource,
  FinancialInstitutionStateResource,
} from '../src/financial-institutions/financial-institutions.ts'
import type { Json, TestAnswer, TestSandbox } from './sandbox.ts'

/** Bank linking of one account, driven as a client and its customer drive it. */
export interface TestBankLinking {
  /** Opens a flow and gives its link token. */
  linkToken(): Promise<string>
  /** Goes through a flow at the provider's front end and gives the public token. */
  complete(linkToken: string, accounts?: readonly Json[]): Promise<string>
  register(publicToken: string, more?: Json, key?: string): Promise<TestAnswer<RegisterAnswer>>
  /** All three steps; gives the id of the first financial institution. */
  link(accounts?: readonly Json[], more?: Json): Promise<string>
  /** Renews the login of a financial institution: the update flow, then a registration. */
  relink(id: string): Promise<TestAnswer<RegisterAnswer>>
  requireLogin(id: string, reason?: string): Promise<TestAnswer>
  institution(id: string): Promise<FinancialInstitutionResource>
  state(id: string): Promise<FinancialInstitutionStateResource>
}

/** Answer of a registration. */
export interface RegisterAnswer {
  readonly address_id: string
  readonly financial_institution_id: string
  readonly financial_institution_ids?: readonly string[]
  readonly code?: string
  readonly errors?: readonly { readonly source?: unknown }[]
}

/** Makes {@link TestBankLinking} for the sandbox's first account. */
export function testBankLinking(api: TestSandbox): TestBankLinking {
  const account = `/accounts/${api.accountId}`
  const institutions = `${account}/financial-institutions`
  const get = async <Body>(path: string) => (await api.call<Body>('GET', path)).body
  const linking: TestBankLinking = {
    async linkToken() {
      const { body } = await api.call<{ link_token: string }>('POST', `${account}/banklink/link_token`, { body: {} })
      return body.link_token
    },
    async complete(linkToken, accounts) {
      const path = `/simulations/bank-links/${linkToken}/complete`
      const { body } = await api.call<{ public_token: string }>('POST', path, { body: { accounts } })
      return body.public_token
    },
    register: (publicToken, more = {}, key = crypto.randomUUID()) =>
      api.call('POST', `${institutions}/register-account`, { body: { public_token: publicToken, ...more }, key }),
    async link(accounts, more) {
      const publicToken = await linking.complete(await linking.linkToken(), accounts)
      return (await linking.register(publicToken, more)).body.financial_institution_id
    },
    async relink(id) {
      const { body } = await api.call<{ link_token: string }>('POST', `${institutions}/${id}/update-link-token`)
      return await linking.register(await linking.complete(body.link_token))
    },
    requireLogin: (id, reason) =>
      api.call('POST', `/simulations/financial-institutions/${id}/login-required`, { body: { reason } }),
    institution: (id) => get(`${institutions}/${id}`),
    state: (id) => get(`${institutions}/${id}/status`),
  }
  return linking
}
