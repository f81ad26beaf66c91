import { type CliContext, runOutlay } from '@outlay/cli'
import { type EmbeddedOutlay, startOutlay } from '@outlay/harness'
import { openTelemetry } from '@outlay/opentelemetry'
import { createService, type ServiceContext, serviceMigrations } from '@outlay/service'
import { pinoLogger } from '@outlay/service/logging'
import { type Sandbox, startSandbox } from '@outlay/service/sandbox'
import { memoryGateway, type Postgres, startPostgres } from '@outlay/testing'
import { type ServiceCase, serviceCases } from '@outlay/testing/conformance/cases'

export const context: Partial<ServiceContext> = {}
export const cases: readonly ServiceCase[] = serviceCases
export const telemetry = openTelemetry()
export const logger = pinoLogger()
export const gateway = memoryGateway()
export const service: typeof createService = createService
export const migrations: number = serviceMigrations.length

export async function run(around: CliContext): Promise<number> {
  const postgres: Postgres = await startPostgres({ durable: false })
  const sandbox: Sandbox = await startSandbox({ databaseUrl: await postgres.createDatabase() })
  const outlay: EmbeddedOutlay = await startOutlay({ postgres })
  const { id } = await outlay.account({ funds: '500' })
  // @ts-expect-error: an id is text.
  const wrong: number = id
  await outlay.stop()
  await sandbox.stop()
  return runOutlay([String(wrong)], around)
}
