const { payInHarness } = require('./payment.js')

test('a payout completes in the harness', async () => {
  expect(await payInHarness()).toBe('487.50')
}, 120_000)
