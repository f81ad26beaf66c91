import { randomBytes } from 'node:crypto'
import type { Client, ExternalAddressInput } from '@outlay/http-client'
import { eq, sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { type Company, company, employee, rails } from './schema.ts'

type Rail = (typeof rails)[number]

/** Maximum number of concurrent registrations of payees. */
const requestsAtOnce = 16

const office = { streetLine1: '1 Main Street', city: 'Chicago', state: 'IL', zip: '60601' }

/** Opens an account at the service for a company; the service also creates its custodial wallets. */
export async function openCompany(db: Database, client: Client, name: string, parentId: string): Promise<Company> {
  const account = await client.accounts.create(parentId, {
    businessName: name,
    ein: '12-3456789',
    address: office,
    phoneNumber: '+1 312 555 0100',
    email: 'payroll@example.com',
    website: 'https://example.com',
    ultimateBeneficialOwners: [{ name: 'Ada Park', ssn: '123-45-6789', address: office }],
  })
  const { items } = await client.addresses.list(account.id, { type: 'internal' })
  const wallet = items.find((address) => address.transferTypes.includes('base'))
  if (wallet === undefined) throw new Error(`${name} has no wallet on Base.`)
  const [row] = await db.insert(company).values({ name, accountId: account.id, walletId: wallet.id }).returning()
  if (row === undefined) throw new Error('The company was not written.')
  return row
}

/** Hires people: registers each payee as an external address, and writes the rows. */
export async function hire(
  db: Database,
  client: Client,
  employer: Company,
  count: number,
  signal: AbortSignal,
): Promise<void> {
  const hired: (typeof employee.$inferInsert)[] = []
  let next = 0
  const register = async () => {
    for (let index = next++; index < count; index = next++) {
      const rail = rails[index % rails.length] ?? 'base'
      const { id } = await client.addresses.createExternal(employer.accountId, payee(index, rail), { signal })
      hired.push({
        companyId: employer.id,
        rail,
        addressId: id,
        salary: `${2_000 + ((index * 37) % 4_000)}.${10 + (index % 90)}`,
      })
    }
  }
  await Promise.all(Array.from({ length: requestsAtOnce }, register))
  await db.insert(employee).values(hired)
}

/** The total of one payroll run of a company, times a factor, in dollars. */
export async function wages(db: Database, employer: Company, factor = '1'): Promise<string> {
  const [row] = await db
    .select({ total: sql<string>`round(sum(${employee.salary}) * ${factor}::numeric, 2)::text` })
    .from(employee)
    .where(eq(employee.companyId, employer.id))
  return row?.total ?? '0.00'
}

/** The payee's address for the person with this number. Some have a bank account that rejects payments. */
function payee(index: number, rail: Rail): ExternalAddressInput {
  const name = `Employee ${index + 1}`
  if (rail === 'base') return { name, address: `0x${randomBytes(20).toString('hex')}`, transferTypes: [rail] }
  return {
    name,
    owner: name,
    accountNumber: `${100_000 + index}${lastFourDigits(index)}`,
    routingNumber: '021000021',
    accountType: 'checking',
    bankAddress: office,
    beneficiaryAddress: office,
    transferTypes: [rail],
  }
}

/** The sandbox refuses account numbers that end in 0422, and returns ACH payments to those in 0003 with R03. */
function lastFourDigits(index: number): string {
  if (isReturned(index)) return '0003'
  if (isRefused(index)) return '0422'
  return '6789'
}

/** One in forty, all paid by ACH, has an account that cannot be located. */
export const isReturned = (index: number): boolean => index % 40 === 0

/** One in forty, all paid by wire, has an account number that the service refuses. */
export const isRefused = (index: number): boolean => index % 40 === 1
