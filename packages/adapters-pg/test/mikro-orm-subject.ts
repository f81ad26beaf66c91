import * as newest from '@mikro-orm/postgresql'
import * as oldest from '@outlay/mikro-orm-6'
import type { DriverSubject } from '@outlay/testing/conformance'
import pg from 'pg'
import { postgres } from '../src/backend.ts'
import { mikroOrmDriver } from '../src/drivers/mikro-orm.ts'

/** What the tests use of a release of MikroORM. */
export type MikroOrmLibrary = Pick<typeof newest, 'EntitySchema' | 'MikroORM'>

/** The releases of MikroORM that the driver is tested with. */
export const mikroOrms: Readonly<Record<string, MikroOrmLibrary>> = {
  'MikroORM 6': oldest as unknown as MikroOrmLibrary,
  'MikroORM 7': newest,
}

interface Note {
  readonly id: string
  readonly body: string
}

const noteOf = ({ EntitySchema }: MikroOrmLibrary) =>
  new EntitySchema<Note>({
    name: 'Note',
    tableName: 'note',
    properties: { id: { type: 'text', primary: true }, body: { type: 'text', nullable: true } },
  })

/** Opens MikroORM with an entity of its own. */
export async function openMikroOrm(
  url: string,
  {
    max = 30,
    library = newest,
    driverOptions = {},
  }: { max?: number; library?: MikroOrmLibrary | undefined; driverOptions?: object } = {},
): Promise<newest.MikroORM> {
  return library.MikroORM.init({ clientUrl: url, entities: [noteOf(library)], pool: { min: 0, max }, driverOptions })
}

/** Opens MikroORM with its driver. */
export async function openMikroOrmSubject(
  url: string,
  library: MikroOrmLibrary = newest,
): Promise<DriverSubject<newest.EntityManager>> {
  const orm = await openMikroOrm(url, { library })
  const pool = new pg.Pool({ connectionString: url, max: 30 })
  return {
    backend: postgres({ driver: mikroOrmDriver({ orm, pool }) }),
    transaction: (work) => orm.em.fork().transactional(work),
    nested: (tx, work) => tx.transactional(work),
    insertNote: (tx, id, body) => tx.insert('Note' as never, { id, body } as never),
    close: () => Promise.all([orm.close(), pool.end()]),
  }
}
