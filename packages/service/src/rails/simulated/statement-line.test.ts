import { expect, it } from 'vitest'
import { statementLine } from './statement-line.ts'

it.each([
  ['Managed Inc', 'Managed Inc'],
  ['Acme Payments LLC', 'Acme Payments LL'],
  ['Fifteen letters of it', 'Fifteen letters'],
  ['Zoë Müller Bäckerei', 'Zoe Muller Backe'],
  ['東京 Trading', 'Trading'],
  ['Smith  &\tSons', 'Smith & Sons'],
])('%j is %j in the sixteen characters of the network', (name, companyName) => {
  expect(statementLine(name)).toEqual({ companyName, name, entryDescription: 'PAYMENT' })
})
