const { strictEqual } = require('node:assert')
const { runOutlay } = require('@outlay/cli')
const { version } = require('@outlay/cli/package.json')
const { createService } = require('@outlay/service')
const { serviceCases } = require('@outlay/testing/conformance/cases')
const { payInHarness } = require('./payment.js')

async function run() {
  let printed = ''
  const print = (text) => {
    printed += text
  }
  const around = { env: {}, stdout: print, stderr: print, signal: new AbortController().signal, interactive: false }
  strictEqual(await runOutlay(['--version'], around), 0)
  strictEqual(printed.trim(), version)
  strictEqual(typeof createService, 'function')
  strictEqual(serviceCases.length > 0, true)
  strictEqual(await payInHarness(), '487.50')
}
run()
