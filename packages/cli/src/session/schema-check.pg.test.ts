import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('where there is no engine', async () => {
  const host = await testHost()
  const env = { DATABASE_URL: host.database.url }
  const { hostname, port, pathname } = new URL(host.database.url)
  const message = `There is no engine in the schema "outlay_typo" of the database "${pathname.slice(1)}" on ${hostname}:${port}.`

  it.each([
    [['stop', '--all']],
    [['fence']],
    [['accounts', 'pause', 'acme']],
    [['start-sending', '--all']],
    [['status']],
    [['transfers', 'cancel', '01J0000000000000000000000Z']],
  ])('says so, and names the schema and the database: outlay %j', async (args) => {
    const { code, stdout, stderr } = await outlay([...args, '--schema', 'outlay_typo'], env)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      `${message}\n→ Check --schema and --database-url; if they are right, "outlay migrate" makes one there.\n`,
    )
    const json = await outlay([...args, '--schema', 'outlay_typo', '--json'], env)
    expect(JSON.parse(json.stderr).error).toMatchObject({ code: 'not_migrated', message })
  })

  it('says so in the doctor too', async () => {
    const { code, stdout } = await outlay(['doctor', '--schema', 'outlay_typo'], env)
    expect([code, stdout]).toEqual([1, expect.stringContaining(message)])
  })

  it('lists what is missing where there is an older one', async () => {
    const url = await host.database.another()
    const client = new pg.Client(url)
    await client.connect()
    await client.query(`delete from outlay.migration where name = 'functions/settle'`)
    await client.end()
    const { code, stderr } = await outlay(['status'], { DATABASE_URL: url })
    expect([code, stderr]).toEqual([1, expect.stringContaining('The schema "outlay" lacks functions/settle;')])
  })
})
