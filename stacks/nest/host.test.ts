import 'reflect-metadata'
import { Test } from '@nestjs/testing'
import { appModule } from './app-module.js'
import { payInvoice } from './host.js'
import { NamedPayouts, TypedPayouts } from './payouts.js'

test.each([TypedPayouts, NamedPayouts])(
  'a payout commits with the row of the host, and its end is handled in a transaction: %p',
  async (payouts) => {
    const compiled = await Test.createTestingModule({ imports: [appModule(payouts)] }).compile()
    const app = compiled.createNestApplication({ rawBody: true })
    expect(await payInvoice(app, `${process.env['INVOICE']}-${payouts.name}`)).toBe('paid')
  },
  60_000,
)
