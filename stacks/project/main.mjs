import { payInvoice } from './payout.mjs'

console.log(await payInvoice(process.argv[2]))
