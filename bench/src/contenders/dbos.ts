import { DBOS, DBOSClient, type DLogger } from '@dbos-inc/dbos-sdk'
import type { Pool } from 'pg'
import { sampleTransfer } from '../sample-transfer.ts'

/** Name of the queue of DBOS, and of the workflow on it. */
export const dbosQueue = 'transfers'
export const dbosWorkflow = 'submit'

const complain = (entry: unknown) => {
  process.stderr.write(`${entry instanceof Error ? entry.message : String(entry)}\n`)
}

/** Says nothing but what is wrong. */
const logger: DLogger = { debug() {}, info() {}, warn: complain, error: complain }

const name = 'bench'

/** Configures the application on a database, and the pool that it uses when it is given one. */
export function configureDbos(url: string, pool?: Pool): void {
  DBOS.setConfig({ name, systemDatabaseUrl: url, logger, ...(pool === undefined ? {} : { systemDatabasePool: pool }) })
}

/** Makes the tables of DBOS, as a first launch does. */
export async function migrateDbos(url: string): Promise<void> {
  configureDbos(url)
  await DBOS.launch()
  await DBOS.shutdown()
}

/** A client that enqueues for the application. */
export const createDbosClient = (url: string): Promise<DBOSClient> =>
  DBOSClient.create({ systemDatabaseUrl: url, systemDatabasePoolSize: 2, applicationName: name, logger })

/** The workflow for the n-th transfer: the id is what makes it unique, the input is what is to be sent. */
export function workflowFor(n: number) {
  const { accountId, idempotencyKey, ...request } = sampleTransfer(n)
  return {
    options: { queueName: dbosQueue, workflowName: dbosWorkflow, workflowID: `${accountId}/${idempotencyKey}` },
    input: { ...request, accountId, idempotencyKey },
  }
}
