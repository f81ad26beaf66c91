import { Id, OutlayError } from '@outlay/core'
import { setAccountStatus } from '../accounts/accounts.ts'
import { findAccountOfAutomation, findAutomation } from '../automations/automations.ts'
import { isId, notFound, requireAccount, requireClient } from '../clients/authenticate.ts'
import { isAccountOfClient } from '../clients/clients.ts'
import { inClientTransaction, inTransaction, type ServiceContext } from '../context.ts'
import { shareWaitMs, withinShare } from '../database/pool-share.ts'
import { asClient } from '../database/tenant.ts'
import { asObject, readJson } from '../http/body.ts'
import { inSpellingOf } from '../http/body-shape.ts'
import type { RouteModule, ServiceApp, ServiceRequest } from '../http/request.ts'
import type { RailSimulation } from '../rails/simulated/simulated-rails.ts'
import type { Caller } from '../schema/caller.ts'
import type { TransferRow } from '../transfers/row.ts'
import { findByWireInstructions, findTransferOfAnyone } from '../transfers/transfers.ts'
import { transferView } from '../transfers/view.ts'
import { simulationFor } from './client-simulation.ts'
import { bookDeposit, dollarsOf, receiveDeposit, referenceAt } from './deposits.ts'
import { amountOf, optionalText, readReference, refusal, text } from './input.ts'

/**
 * Mounts the routes that only a sandbox has: incoming money, the clock, and outcomes. Scope `transfers:write`. There is one clock, so
 * that `mayMoveClock` decides by its id which client moves the payments of all.
 */
export function simulationsRoutes(
  simulation: RailSimulation,
  mayMoveClock: (clientId: string) => boolean = () => true,
): RouteModule {
  return (app, context) => {
    mountClock(app, context, simulation, mayMoveClock)

    app.post('/simulations/deposits', async (c) => {
      const caller = await requireClient(c, context, 'transfers:write')
      const body = asObject(await readJson(c))
      const accountId = await ownAccount(context, caller, text(body, 'account_id'))
      const given = {
        accountId,
        addressId: text(body, 'address_id'),
        valueType: text(body, 'value_type'),
        transferType: text(body, 'transfer_type'),
        amount: amountOf(body['amount']),
        reference: referenceAt(accountId, readReference(body) ?? Id.generate(context.clock, context.random)),
      }
      // The system books it, but the client has asked, so it takes of the share of the client.
      const booked = await withinShare(context, caller.clientId, { limitMs: shareWaitMs }, () =>
        inSpellingOf(body, () => inTransaction(context, (tx) => bookDeposit(tx, context, given))),
      )
      if (booked.outcome === 'exception') {
        const message =
          'An earlier deposit of this reference has another amount or another wallet; nothing was credited.'
        throw new OutlayError('conflict', message, { field: 'reference' })
      }
      return c.json(
        {
          id: booked.id,
          account_id: booked.accountId,
          address_id: booked.addressId,
          value_type: booked.valueType,
          transfer_type: booked.transferType,
          amount: { value: booked.amount, currency: booked.valueType },
        },
        201,
      )
    })

    app.post('/simulations/accounts/:account_id/status', async (c) => {
      const caller = await requireClient(c, context, 'transfers:write')
      const accountId = await ownAccount(context, caller, c.req.param('account_id'))
      const wanted = asObject(await readJson(c))['status']
      const status = accountStatuses.find((one) => one === wanted)
      if (status === undefined) throw refusal('status', `The status is one of ${accountStatuses.join(', ')}.`)
      await inClientTransaction(context, caller.clientId, (tx) => setAccountStatus(tx, context, accountId, status))
      return c.json({ id: accountId, status })
    })

    app.post('/simulations/wires', (c) => receiveWire(c, context, simulation))
    app.post('/simulations/ach-credits', async (c) => {
      const caller = await requireClient(c, context, 'transfers:write')
      const body = asObject(await readJson(c))
      const own = simulationFor(context, caller.clientId, simulation)
      const automationId = await own.findVirtualAccount(text(body, 'account_number'))
      if (automationId === undefined) throw notFound('virtual account')
      return await receiveDeposit(c, context, own, { caller, automationId, body, transferType: 'ach_credit' })
    })
    app.post('/accounts/:account_id/automations/:automation_id/simulations/deposits', (c) =>
      simulateAutomationDeposit(c, context, simulation),
    )
    app.get('/simulations/transfers/:transfer_id/statement-line', (c) => showStatementLine(c, context, simulation))
    for (const ending of endings)
      app.post(`/simulations/transfers/:transfer_id/${ending}`, (c) => endTransfer(c, context, simulation, ending))
  }
}

function mountClock(
  app: ServiceApp,
  context: ServiceContext,
  simulation: RailSimulation,
  mayMove: (clientId: string) => boolean,
): void {
  const view = (now: Date) => ({ now: now.toISOString(), applies_to: 'all_clients' })

  app.get('/simulations/clock', async (c) => {
    await requireClient(c, context, 'transfers:write')
    return c.json(view(simulation.now()))
  })

  app.post('/simulations/clock/advance', async (c) => {
    const { clientId } = await requireClient(c, context, 'transfers:write')
    if (!mayMove(clientId))
      throw new OutlayError('forbidden', 'The clock is that of all clients, and this one may not move it.')
    const { seconds } = asObject(await readJson(c))
    if (typeof seconds !== 'number' || !(seconds >= 0) || seconds > maxAdvanceSeconds) {
      throw refusal('seconds', `The clock can go forward by 0 to ${maxAdvanceSeconds} seconds.`)
    }
    const own = simulationFor(context, clientId, simulation)
    return c.json(view(await own.advance(Math.round(seconds * 1000))))
  })
}

const accountStatuses = ['complete', 'pending', 'rejected'] as const

const endings = ['settle', 'reject', 'return', 'accept'] as const

/** Two years. */
const maxAdvanceSeconds = 2 * 366 * 86_400

async function receiveWire(c: ServiceRequest, context: ServiceContext, rails: RailSimulation): Promise<Response> {
  const caller = await requireClient(c, context, 'transfers:write')
  const simulation = simulationFor(context, caller.clientId, rails)
  const body = asObject(await readJson(c))
  const transferId = optionalText(body, 'transfer_id')
  const memo = optionalText(body, 'memo')
  const accountNumber = optionalText(body, 'account_number')
  if (transferId === undefined && memo === undefined && accountNumber === undefined) {
    throw refusal('memo', 'Name the wire by memo, account_number or transfer_id.')
  }
  const automationId = await findOwnAutomation(context, caller, simulation, accountNumber)
  if (automationId !== undefined) {
    return await receiveDeposit(c, context, simulation, { caller, automationId, body, transferType: 'wire' })
  }
  const found =
    transferId === undefined
      ? await findByWireInstructions(asClient(context, caller.clientId), context, { memo, accountNumber })
      : await findTransferOfAnyone(asClient(context, caller.clientId), context, transferId)
  const row = await own(context, caller, found)
  await simulation.receiveWire(row.id, {
    amount: body['amount'] == null ? undefined : dollarsOf(body),
    senderName: optionalText(body, 'sender_name') ?? null,
    senderBankName: optionalText(body, 'sender_bank_name') ?? null,
  })
  return answer(c, context, caller, row.id)
}

/** The automation of the caller that has this account number; one of another client is answered like none. */
async function findOwnAutomation(
  context: ServiceContext,
  caller: Caller,
  simulation: RailSimulation,
  accountNumber: string | undefined,
): Promise<string | undefined> {
  const automationId = accountNumber === undefined ? undefined : await simulation.findVirtualAccount(accountNumber)
  if (automationId === undefined) return undefined
  const owner = await findAccountOfAutomation(asClient(context, caller.clientId), context, automationId)
  return owner === undefined ? undefined : automationId
}

/** A deposit at the path of the public contract: a wire unless it says otherwise. */
async function simulateAutomationDeposit(
  c: ServiceRequest,
  context: ServiceContext,
  rails: RailSimulation,
): Promise<Response> {
  const { accountId, ...caller } = await requireAccount(c, context, 'transfers:write')
  const simulation = simulationFor(context, caller.clientId, rails)
  const body = asObject(await readJson(c))
  const rail = optionalText(body, 'transfer_type') ?? 'wire'
  if (rail !== 'wire' && rail !== 'ach_credit') throw refusal('transfer_type', 'Deposits come by wire or ach_credit.')
  const automationId = c.req.param('automation_id') ?? ''
  const client = asClient(context, caller.clientId)
  const automation = isId(automationId) ? await findAutomation(client, context, accountId, automationId) : undefined
  if (automation === undefined) throw notFound('automation')
  if (automation.account_number === null) {
    throw new OutlayError(
      'conflict',
      'The virtual account of the automation is not open yet; send the deposit when it is.',
    )
  }
  return await receiveDeposit(c, context, simulation, { caller, automationId, body, transferType: rail })
}

async function showStatementLine(c: ServiceRequest, context: ServiceContext, rails: RailSimulation): Promise<Response> {
  const caller = await requireClient(c, context, 'transfers:write')
  const simulation = simulationFor(context, caller.clientId, rails)
  const transferId = c.req.param('transfer_id') ?? ''
  if (!isId(transferId)) throw notFound('transfer')
  const row = await own(
    context,
    caller,
    await findTransferOfAnyone(asClient(context, caller.clientId), context, transferId),
  )
  const line = await simulation.findStatementLine(row.id)
  if (line === undefined) throw notFound('statement line')
  return c.json({
    transfer_id: row.id,
    company_name: line.companyName,
    name: line.name,
    entry_description: line.entryDescription,
    trace_number: line.traceNumber,
  })
}

async function endTransfer(
  c: ServiceRequest,
  context: ServiceContext,
  rails: RailSimulation,
  ending: (typeof endings)[number],
): Promise<Response> {
  const caller = await requireClient(c, context, 'transfers:write')
  const simulation = simulationFor(context, caller.clientId, rails)
  const body = c.req.header('content-type') === undefined ? {} : asObject(await readJson(c))
  const transferId = c.req.param('transfer_id') ?? ''
  if (!isId(transferId)) throw notFound('transfer')
  const row = await own(
    context,
    caller,
    await findTransferOfAnyone(asClient(context, caller.clientId), context, transferId),
  )
  switch (ending) {
    case 'settle':
      await simulation.settle(row.id)
      break
    case 'reject':
      await simulation.reject(row.id, {
        code: optionalText(body, 'code') ?? 'rejected',
        detail: optionalText(body, 'detail') ?? 'The other side refused the payment',
      })
      break
    case 'return':
      await simulation.returnWith(row.id, text(body, 'code'))
      break
    case 'accept':
      await simulation.acceptOffer(row.id)
      break
  }
  return answer(c, context, caller, row.id)
}

async function answer(
  c: ServiceRequest,
  context: ServiceContext,
  caller: Caller,
  transferId: string,
): Promise<Response> {
  const row = await findTransferOfAnyone(asClient(context, caller.clientId), context, transferId)
  if (row === undefined) throw notFound('transfer')
  return c.json(transferView(row), 202)
}

async function own(context: ServiceContext, caller: Caller, row: TransferRow | undefined): Promise<TransferRow> {
  if (
    row === undefined ||
    !(await isAccountOfClient(asClient(context, caller.clientId), context, caller.clientId, row.account_id))
  ) {
    throw notFound('transfer')
  }
  return row
}

async function ownAccount(context: ServiceContext, caller: Caller, accountId: string): Promise<string> {
  if (
    !isId(accountId) ||
    !(await isAccountOfClient(asClient(context, caller.clientId), context, caller.clientId, accountId))
  ) {
    throw notFound('account')
  }
  return accountId
}
