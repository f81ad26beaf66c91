import { BankAccount, bankAccountTypes, OutlayError, type Random } from '@outlay/core'
import { findAddressOfClient } from '../addresses/addresses.ts'
import { notFound, requireClient } from '../clients/authenticate.ts'
import { isAccountOfClient } from '../clients/clients.ts'
import { shareWaitMs, withinShare } from '../database/pool-share.ts'
import { asClient } from '../database/tenant.ts'
import { findFinancialInstitutionState } from '../financial-institutions/financial-institutions.ts'
import { institutionIdOf } from '../financial-institutions/routes.ts'
import { asObject, readJson } from '../http/body.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { findItemOfAddress } from './items.ts'
import { reportLoginRequired } from './logins.ts'
import type { LinkedBankAccount } from './port.ts'
import { mostAccounts } from './schema.ts'
import type { BankLinkSimulation } from './simulated.ts'

/**
 * Mounts the actions of a person at the provider's front end, for sandboxes: completing the flow of a link token, and requiring a
 * new login. Scope `financial-institutions:write`.
 */
export function bankLinkSimulationsRoutes(simulation: BankLinkSimulation): RouteModule {
  return (app, context) => {
    app.post('/simulations/bank-links/:link_token/complete', async (c) => {
      const caller = await requireClient(c, context, 'financial-institutions:write')
      const token = c.req.param('link_token')
      const client = asClient(context, caller.clientId)
      const shared = <T>(work: () => Promise<T>) =>
        withinShare(context, caller.clientId, { limitMs: shareWaitMs }, work)
      const flow = await shared(() => simulation.findFlow(token))
      if (flow === undefined || !(await isAccountOfClient(client, context, caller.clientId, flow.ownerId)))
        throw notFound('link token')
      const { accounts } = await readBody(c)
      const selected = accounts === undefined && flow.renews ? undefined : readSelection(accounts, context.random)
      const publicToken = await shared(() => simulation.complete(token, selected))
      return c.json({ public_token: publicToken }, 201)
    })

    app.post('/simulations/financial-institutions/:financial_institution_id/login-required', async (c) => {
      const caller = await requireClient(c, context, 'financial-institutions:write')
      const client = asClient(context, caller.clientId)
      const address = await findAddressOfClient(client, context, caller.clientId, institutionIdOf(c))
      if (address?.bank === undefined) throw notFound('financial institution')
      const item = await findItemOfAddress(client, context, address.accountId, address.id)
      if (item === undefined)
        throw new OutlayError(
          'conflict',
          'The financial institution was entered by hand; only one that was linked has a login.',
        )
      const { reason = 'The login at the bank has ended.' } = await readBody(c)
      if (typeof reason !== 'string' || reason.length > 255) throw refusal('reason', 'must be at most 255 characters')
      await withinShare(context, caller.clientId, { limitMs: shareWaitMs }, () =>
        reportLoginRequired(context, { itemId: item.itemId, reason }),
      )
      return c.json(await findFinancialInstitutionState(client, context, address.accountId, address.id), 202)
    })
  }
}

const bankAddress = { streetLine1: '1 Sandbox Plaza', city: 'Chicago', state: 'IL', zip: '60601', country: 'US' }

/** The selected bank accounts; one new checking account when the body names none. */
function readSelection(accounts: unknown, random: Random): readonly LinkedBankAccount[] {
  if (accounts === undefined) return [readAccount({}, '', random)]
  if (!Array.isArray(accounts) || accounts.length > mostAccounts)
    throw refusal('accounts', `must be an array of at most ${mostAccounts} bank accounts`)
  return accounts.map((account, at) => readAccount(asObject(account), `accounts.${at}.`, random))
}

function readAccount(given: Readonly<Record<string, unknown>>, prefix: string, random: Random): LinkedBankAccount {
  const text = (name: string, fallback: string): string => {
    const value = given[name] ?? fallback
    if (typeof value === 'string' && value !== '' && value.length <= 255) return value
    throw refusal(prefix + name, 'must be text of 1 to 255 characters')
  }
  const wanted = text('account_type', 'checking')
  const accountType = bankAccountTypes.find((type) => type === wanted)
  if (accountType === undefined) throw refusal(`${prefix}account_type`, `must be ${bankAccountTypes.join(' or ')}`)
  const number = text('account_number', newAccountNumber(random))
  return {
    name: text('name', `Sandbox ${accountType}`),
    bankName: text('bank_name', 'Outlay Simulated Bank'),
    owner: text('owner', 'Sandbox Customer'),
    accountNumber: BankAccount.parseAccountNumber(number, `${prefix}account_number`),
    routingNumber: BankAccount.parseRoutingNumber(text('routing_number', '071099998'), `${prefix}routing_number`),
    accountType,
    bankAddress,
    beneficiaryAddress: bankAddress,
  }
}

/** Twelve digits. The last four are not a magic input of the simulated rails. */
function newAccountNumber(random: Random): string {
  return `${String(Math.floor(random.fraction() * 1e8)).padStart(8, '0')}6789`
}

async function readBody(c: ServiceRequest): Promise<Readonly<Record<string, unknown>>> {
  return c.req.header('content-type') === undefined ? {} : asObject(await readJson(c))
}

function refusal(field: string, message: string): OutlayError {
  return new OutlayError('invalid_request', message, { field })
}
