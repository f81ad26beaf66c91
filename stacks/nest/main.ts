import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { appModule } from './app-module.js'
import { payInvoice } from './host.js'
import { NamedPayouts, TypedPayouts } from './payouts.js'

/** node dist/main.js typed "$INVOICE" */
async function main([kind, id = '']: readonly string[]): Promise<void> {
  const root = appModule(kind === 'typed' ? TypedPayouts : NamedPayouts)
  const app = await NestFactory.create(root, { rawBody: true, abortOnError: false, logger: ['error', 'warn'] })
  console.log(await payInvoice(app, id))
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error)
  process.exitCode = 1
})
