/** The service process: the payouts service with simulated rails, and credentials for one client. */
import { startSandbox } from '@outlay/service/sandbox'

const write = (level: string) => (fields: object, message: string) =>
  console.error(JSON.stringify({ level, message, ...fields }))
const logger = { debug() {}, info() {}, warn: write('warn'), error: write('error') }

const sandbox = await startSandbox({ databaseUrl: process.env.DATABASE_URL ?? '', logger })

process.on('SIGINT', () => {}) // Ctrl-C reaches the whole group; main ends its children in order, with SIGTERM.
process.once('SIGTERM', () => sandbox.stop())

const { clientId, clientSecret, accounts } = await sandbox.seedClient({
  name: 'Payroll application',
  accounts: [{ businessName: 'Payroll Application' }],
})
console.log(
  JSON.stringify({ ready: true, baseUrl: sandbox.url, clientId, clientSecret, accountId: accounts[0]?.accountId }),
)
