const { payInvoice } = require('./payout.js')

payInvoice(process.argv[2]).then((type) => console.log(type))
