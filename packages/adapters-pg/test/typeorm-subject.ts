import type { DriverSubject } from '@outlay/testing/conformance'
import * as typeorm from 'typeorm'
import * as oldest from 'typeorm-0.3'
import { postgres } from '../src/backend.ts'
import type { PgDriverOptions } from '../src/drivers/pool.ts'
import { typeormDriver } from '../src/drivers/typeorm.ts'

/** The releases of TypeORM that the driver is tested with: the oldest and the newest that it claims. */
export const typeorms: Readonly<Record<string, typeof typeorm>> = {
  'TypeORM 0.3': oldest as unknown as typeof typeorm,
  'TypeORM 1': typeorm,
}

interface Note {
  readonly id: string
  readonly body: string
}

/** Opens a data source with an entity of its own. */
export async function openDataSource(
  url: string,
  { max = 30, library = typeorm, extra = {} }: { max?: number; library?: typeof typeorm; extra?: object } = {},
): Promise<typeorm.DataSource> {
  const note = new library.EntitySchema<Note>({
    name: 'note',
    columns: { id: { type: 'text', primary: true }, body: { type: 'text', nullable: true } },
  })
  const dataSource = new library.DataSource({ type: 'postgres', url, entities: [note], poolSize: max, extra })
  return dataSource.initialize()
}

/** Opens TypeORM with its driver. */
export async function openTypeorm(
  url: string,
  library: typeof typeorm = typeorm,
  options: PgDriverOptions = {},
): Promise<DriverSubject<typeorm.EntityManager>> {
  const dataSource = await openDataSource(url, { library })
  return {
    backend: postgres({ driver: typeormDriver(dataSource, options) }),
    async transaction(work) {
      const runner = dataSource.createQueryRunner()
      await runner.startTransaction()
      try {
        const result = await work(runner.manager)
        await runner.commitTransaction()
        return result
      } catch (error) {
        await runner.rollbackTransaction()
        throw error
      } finally {
        await runner.release()
      }
    },
    nested: (tx, work) => tx.transaction(work),
    insertNote: (tx, id, body) => tx.insert('note', { id, body }),
    close: () => dataSource.destroy(),
  }
}
