import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext } from '../context.ts'
import { batch } from '../database/batch.ts'
import { listOf, type Row, run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import { movedAmount } from '../rail-facts/moved-amount.ts'
import { type ReadInstruction, UnreadableInstructionError } from '../rails/gateway.ts'
import type { RailInstruction } from '../rails/port.ts'
import { bankAccountOf, readBankAccount } from './parties.ts'
import { paidBy } from './rail-check.ts'
import { readTransfer } from './row.ts'

type InstructionContext = Pick<ServiceContext, 'pool' | 'schema' | 'secrets' | 'logger'>

/**
 * Makes the reader of rail instructions: it reads simultaneous submissions in one statement. One that cannot be read, such as one with an
 * account number that no key opens, is an {@link UnreadableInstructionError} of its own, which the log has; the others are read.
 */
export function instructionReader(context: InstructionContext): ReadInstruction {
  const readRow = batch(
    async (transferIds: readonly string[]) => {
      const rows = await run(asSystem(context), context, selectInstructions, [transferIds])
      const found = new Map(rows.map((row) => [row['id'], row]))
      return transferIds.map((id) => found.get(id))
    },
    { maxSize: 100, waitMs: 2 },
  )
  return async (transferId) => {
    const row = await readRow(transferId)
    if (row === undefined) return undefined
    try {
      return instructionOf(context, readInstruction(row))
    } catch (error) {
      throw unreadable(context, transferId, error)
    }
  }
}

/** The message of the cause can quote the row, so it goes nowhere. */
function unreadable({ logger }: InstructionContext, transferId: string, cause: unknown): UnreadableInstructionError {
  const error = cause instanceof Error ? cause.name : typeof cause
  logger.warn(
    { transferId, error },
    'A transfer cannot be sent, because what is stored of it cannot be read. Give encryptionKey all the keys that have sealed bank accounts; it is sent then.',
  )
  return new UnreadableInstructionError({ cause })
}

function instructionOf(context: Pick<ServiceContext, 'secrets'>, row: InstructionRow): RailInstruction {
  return {
    transferId: row.id,
    accountId: row.account_id,
    flow: row.flow,
    ...paidBy(row.quote ?? undefined, movedOf(row)),
    source: {
      addressId: row.source_address_id ?? undefined,
      valueType: row.source_value_type,
      transferType: row.source_transfer_type,
      custodial: row.plan.void.length > 0,
      address: row.source?.address ?? '',
      bank: row.source && bankAccountOf(context, row.source),
    },
    destination: {
      addressId: row.destination_address_id,
      valueType: row.destination_value_type,
      transferType: row.destination_transfer_type,
      custodial: row.plan.post.at(-1)?.kind === 'custodial',
      address: row.destination?.address ?? '',
      bank: row.destination && bankAccountOf(context, row.destination),
    },
    wireMemo: row.wire_memo ?? undefined,
    brandAccountId: row.brand_account_id ?? undefined,
    statementName: row.statementName,
    deposit: row.automation_id === null ? undefined : { reference: row.source_transaction_id ?? '' },
  }
}

function movedOf(row: InstructionRow) {
  const { amount_value: value, amount_currency: currency, flow } = row
  const ends = { source: { valueType: row.source_value_type }, destination: { valueType: row.destination_value_type } }
  return movedAmount({ value, currency }, flow, ends)
}

type InstructionRow = ReturnType<typeof readInstruction>

function readInstruction(row: Row) {
  const { source, destination, statementName } = readAddresses(row)
  return { ...readTransfer(row), source: readAddress(source), destination: readAddress(destination), statementName }
}

const readAddresses = rowDecoder('instruction', {
  source: Column.nullable(Column.json<Row>()),
  destination: Column.nullable(Column.json<Row>()),
  statementName: Column.text,
})

/** Reads one address of a transfer from JSON of its row. */
function readAddress(row: Row | null) {
  return row === null ? undefined : { ...readBankAccount(row), ...readOnchainAddress(row) }
}

const readOnchainAddress = rowDecoder('address', { address: Column.text })

const selectInstructions = statement(
  'transfer_instruction_select',
  `select ${listOf(readTransfer, 't')}, to_jsonb(s) as source, to_jsonb(d) as destination, o.business_name as statement_name
     from {{schema}}.transfer t
     join {{schema}}.account o on o.id = coalesce(t.brand_account_id, t.account_id)
     left join {{schema}}.address s on s.id = t.source_address_id
     left join {{schema}}.address d on d.id = t.destination_address_id
    where t.id = any ($1)`,
  // Read one by one, so that a row which cannot be read concerns no other one.
  (row: Row) => row,
)
