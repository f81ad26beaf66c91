import { postgres } from '@outlay/adapters-pg'
import { typeormDriver } from '@outlay/adapters-pg/typeorm'
import { createEngine, type EnqueueRequest, type Gateway } from '@outlay/core'
import type { DataSource } from 'typeorm'

export async function payWithTypeorm(dataSource: DataSource, gateway: Gateway, request: EnqueueRequest): Promise<void> {
  const engine = createEngine({ backend: postgres({ driver: typeormDriver(dataSource) }), gateway })
  await dataSource.transaction((tx) => engine.transfers.enqueue(tx, request))
  // @ts-expect-error: a data source is no transaction.
  await engine.transfers.enqueue(dataSource, request)
}
