import { drain, silentLogger, waitUntil } from '@outlay/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { type OpenOptions, testHost } from '../../test/host.ts'

describe('a history to which a foreign key of the host refers', async () => {
  const { pool, open, commit, enqueueMany, rows } = await testHost()
  afterEach(() => pool.query('drop table note_of_event, note_of_attempt'))

  /** Four transfers that ended long ago; the host has a note of an event of the first and of an attempt of the second. */
  async function noteSome(options: OpenOptions = {}) {
    await pool.query(`
      create table note_of_event (transfer_id text collate "C", sequence integer,
        foreign key (transfer_id, sequence) references outlay.event deferrable initially deferred);
      create table note_of_attempt (transfer_id text collate "C", attempt integer,
        foreign key (transfer_id, attempt) references outlay.attempt on delete restrict)`)
    const engine = open(options)
    await engine.start()
    const ids = (await enqueueMany(engine, 4)).map(({ id }) => id)
    await drain(engine)
    await engine.stop()
    await rows(`update outlay.transfer set updated_at = now() - interval '40 days'`)
    await rows('insert into note_of_event values ($1, 2)', [ids[0]])
    await rows('insert into note_of_attempt values ($1, 1)', [ids[1]])
    return { engine, ids }
  }
  const archived = () => rows('select id from outlay.transfer where archive_page is not null order by id')

  it('stays and is counted, and all others are archived into one row', async () => {
    const { engine, ids } = await noteSome()
    const before = await rows('select * from outlay.event order by transfer_id, sequence')
    expect(await engine.archive({ olderThanMs: 0 })).toEqual({ archived: 2, held: 0, heldBy: [], referenced: 2 })
    expect(await archived()).toEqual(ids.slice(2).map((id) => ({ id })))
    expect(await rows('select transfers from outlay.archive')).toEqual([{ transfers: 2 }])
    const after = await rows(
      'select e.* from unnest($1::text[]) i (id), outlay.events_of(i.id) e where sequence > 1 order by 1, 2',
      [ids],
    )
    expect(after).toEqual(before)
  })

  it('is archived when the host has deleted its row', async () => {
    const { engine } = await noteSome()
    await engine.archive({ olderThanMs: 0 })
    await commit((tx) => tx.query('delete from note_of_event'))
    expect(await engine.archive({ olderThanMs: 0 })).toMatchObject({ archived: 1, referenced: 1 })
    await commit((tx) => tx.query('delete from note_of_attempt'))
    expect(await engine.archive({ olderThanMs: 0 })).toMatchObject({ archived: 1, referenced: 0 })
  })

  it('is named in the log of a running engine', async () => {
    const warnings: object[] = []
    const logger = { ...silentLogger, warn: (fields: object) => warnings.push(fields) }
    await noteSome()
    await rows(`update outlay.transfer set updated_at = now() - interval '400 days'`)
    await open({ logger }).start({ retention: { archiveAfterDays: 0 } })
    await waitUntil(() => warnings.some((fields) => 'referenced' in fields))
    expect(warnings).toContainEqual({ referenced: 2 })
  })
})
