import { createHash } from 'node:crypto'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { inspect } from '../inspection/inspection.ts'

const note = { actor: 'petra', reason: 'as the board decided' }

describe('the chain of the audit', async () => {
  const { driver, open, commit, rows } = await testHost()
  /** Writes as many entries. */
  const write = async (engine: HostEngine, count: number) => {
    for (let at = 1; at <= count; at += 1) {
      const policies = [{ name: `p${at}`, refuse: 'no' }]
      await commit((tx) => engine.policies.set(tx, policies, note))
    }
  }
  /** What somebody does whom no trigger stops. */
  const tamper = (...texts: string[]) =>
    commit(async (tx) => {
      for (const text of ['set local session_replication_role = replica', ...texts]) await tx.query(text)
    })
  const verdict = async (engine: HostEngine, anchors: readonly string[] = []) => {
    const { intact, problems } = await engine.audit.verify({ anchors })
    expect(intact).toBe(problems.length === 0)
    return problems.map(({ kind, position }) => (position === null ? kind : `${kind} ${position}`))
  }
  const entryAt = async (position: number) =>
    (await rows('select audit_id from outlay.audit_chain where position = $1', [position]))[0].audit_id

  it('is whole without an entry, and with every one of them', async () => {
    const engine = open()
    expect(await engine.audit.verify()).toEqual({ intact: true, entries: 0, anchor: null, problems: [] })
    await write(engine, 3)
    const { intact, entries, anchor } = await engine.audit.verify()
    expect({ intact, entries }).toEqual({ intact: true, entries: 3 })
    expect(anchor).toMatch(/^3:[0-9a-f]{64}$/)
    await write(engine, 1)
    expect(await verdict(engine, [anchor ?? ''])).toEqual([])
    await expect(engine.audit.verify({ anchors: ['3'] })).rejects.toMatchObject({ field: 'anchors.0' })
  })

  it('can be computed again from its entries by anybody', async () => {
    const engine = open()
    await write(engine, 3)
    let before = ''
    for await (const { hash, text } of engine.audit.chain()) {
      expect(hash).toBe(createHash('sha256').update(`${before}\n${text}`).digest('hex'))
      before = hash
      expect(JSON.parse(text ?? '')).toMatchObject({ command: 'policies.set', ...note, transferId: null })
    }
    const later: number[] = []
    for await (const { position } of engine.audit.chain({ after: 2 })) later.push(position)
    expect(later).toEqual([3])
  })

  it('shows an entry that was edited, whatever of it', async () => {
    const engine = open()
    await write(engine, 3)
    await engine.audit.verify()
    const id = await entryAt(2)
    await rows('create table kept as select * from outlay.audit')
    for (const change of [
      `actor = 'somebody'`,
      'reason = null',
      `at = at - interval '1 second'`,
      `after = '{}'`,
      `login = 'x'`,
      `transaction = '3'`,
      `command = 'x'`,
    ]) {
      const kept =
        'update outlay.audit a set (actor, reason, at, after, login, transaction, command) = (select k.actor, k.reason, k.at, k.after, k.login, k.transaction, k.command from kept k where k.id = a.id)'
      await tamper(`update outlay.audit set ${change} where id = ${id}`)
      expect(await verdict(engine), change).toEqual(['edited 2'])
      await tamper(kept)
    }
    await rows('drop table kept')
    expect(await verdict(engine)).toEqual([])
  })

  it('shows an entry that was deleted, with and without its place', async () => {
    const engine = open()
    await write(engine, 4)
    await engine.audit.verify()
    const id = await entryAt(2)
    await tamper(`delete from outlay.audit where id = ${id}`)
    expect(await verdict(engine)).toEqual(['deleted 2'])
    await tamper(`delete from outlay.audit_chain where position = 2`)
    expect(await verdict(engine)).toEqual(['deleted 2'])
  })

  it('shows an entry that was added to what had been written, and places that were', async () => {
    const engine = open()
    await write(engine, 3)
    await engine.audit.verify()
    // A transaction of another database may still be open, behind which any entry may commit late.
    const isSettled = async () => {
      await write(engine, 1)
      await engine.audit.verify()
      const [end] = await rows(
        `select e.settled_before > a.transaction as done from outlay.audit_chain_end e, outlay.audit a where a.id = ${await entryAt(1)}`,
      )
      return end.done === true
    }
    await waitUntil(isSettled, { timeoutMs: 100_000, describe: 'the end of every transaction that was open' })
    const forge = `insert into outlay.audit (command, actor, login, transaction) select 'transfers.approve', 'cfo', 'cfo', transaction from outlay.audit where id = ${await entryAt(1)}`
    await tamper(forge)
    await write(engine, 1)
    expect(await verdict(engine)).toEqual(['inserted'])
    // With a place of its own between others it breaks the chain.
    const forged = `(select max(id) from outlay.audit where actor = 'cfo')`
    await tamper(
      'update outlay.audit_chain set position = position + 100 where position > 1',
      'update outlay.audit_chain set position = position - 99 where position > 100',
      `insert into outlay.audit_chain (position, audit_id, hash) values (2, ${forged}, repeat('0', 64))`,
      'update outlay.audit_chain_end set position = position + 1',
    )
    expect(await verdict(engine)).toEqual(['edited 2', 'edited 3'])
  })

  it('shows an end that was cut off, against an anchor also where the chain fits it', async () => {
    const engine = open()
    await write(engine, 4)
    const { anchor } = await engine.audit.verify()
    await tamper(
      `delete from outlay.audit where id = ${await entryAt(4)}`,
      'delete from outlay.audit_chain where position = 4',
    )
    expect(await verdict(engine)).toEqual(['cut_off 4'])
    await tamper(
      'update outlay.audit_chain_end e set position = c.position, hash = c.hash from outlay.audit_chain c where c.position = 3',
    )
    expect(await verdict(engine)).toEqual([])
    expect(await verdict(engine, [anchor ?? ''])).toEqual(['cut_off 4'])
    await tamper('delete from outlay.audit_chain_end')
    expect(await verdict(engine)).toEqual(['cut_off 4'])
  })

  it('shows a chain that was made anew over what was changed, against an anchor', async () => {
    const engine = open()
    await write(engine, 3)
    const { anchor } = await engine.audit.verify()
    await tamper(
      `update outlay.audit set actor = 'somebody' where id = ${await entryAt(2)}`,
      'delete from outlay.audit_chain',
      'delete from outlay.audit_chain_end',
    )
    expect(await verdict(engine)).toEqual([])
    expect(await verdict(engine, [anchor ?? ''])).toEqual(['rewritten 3'])
  })

  it('shows entries that a session keeps out of it, and the doctor how long', async () => {
    const engine = open()
    await write(engine, 1)
    await engine.audit.verify()
    const health = async () => (await inspect({ driver }).health()).unchained
    expect(await health()).toMatchObject({ count: 0 })
    await driver.transaction(async (tx) => {
      await tx.query(`select pg_advisory_xact_lock(hashtextextended('outlay audit chain "outlay"', 0))`)
      await write(engine, 2)
      expect(await verdict(engine)).toEqual(['unchained', 'unchained'])
      expect(await health()).toMatchObject({ count: 2, oldestMs: expect.any(Number) })
    })
    expect(await verdict(engine)).toEqual([])
    expect(await health()).toMatchObject({ count: 0 })
  })

  it('is compared by the columns, whatever the function says that makes it', async () => {
    const engine = open()
    await write(engine, 2)
    const { anchor } = await engine.audit.verify()
    const [{ text }] = await rows(`select pg_get_functiondef('outlay.audit_text'::regproc) as text`)
    const id = await entryAt(1)
    await tamper(`update outlay.audit set actor = 'somebody' where id = ${id}`)
    await rows(
      text.replace(`p_entry.actor`, `case when p_entry.id = ${id} then '${note.actor}' else p_entry.actor end`),
    )
    try {
      expect((await rows('select outlay.audit_text(a) as text from outlay.audit a order by id'))[0].text).toContain(
        note.actor,
      )
      expect(await verdict(engine, [anchor ?? ''])).toEqual(['edited 1'])
    } finally {
      await rows(text)
    }
  })

  it('has entries in the order of their commits, and waits for no transaction that is open', async () => {
    const engine = open()
    const { id } = await commit((tx) => engine.batches.create(tx, { key: 'first' }))
    const { id: other } = await commit((tx) => engine.batches.create(tx, { key: 'second' }))
    await commit(async (tx) => {
      await engine.batches.cancel(tx, id, { actor: 'first' })
      await commit((second) => engine.batches.cancel(second, other, { actor: 'second' }))
      expect(await engine.audit.verify()).toMatchObject({ intact: true, entries: 1 })
    })
    await write(engine, 1)
    expect(await engine.audit.verify()).toMatchObject({ intact: true, entries: 3 })
    const actors: string[] = []
    for await (const { text } of engine.audit.chain()) actors.push(JSON.parse(text ?? '').actor)
    expect(actors.slice(0, 2)).toEqual(['second', 'first'])
  })

  it('is made by one at a time, for whom neither another one nor a command waits', async () => {
    const engine = open()
    await write(engine, 2)
    await commit(async (tx) => {
      expect((await tx.query('select outlay.chain_audit(1) as count')).rows).toEqual([{ count: 1 }])
      expect(await rows('select outlay.chain_audit(10) as count')).toEqual([{ count: 0 }])
      await write(engine, 1)
    })
    expect(await engine.audit.verify()).toMatchObject({ intact: true, entries: 3 })
  })

  it('goes on in a database that was restored into a server that counts transactions anew', async () => {
    const engine = open()
    await write(engine, 2)
    await engine.audit.verify()
    await tamper(`update outlay.audit_chain_end set settled_before = '9000000000000000000'`)
    await write(engine, 1)
    expect(await engine.audit.verify()).toMatchObject({ intact: true, entries: 3 })
    await write(engine, 1)
    expect(await engine.audit.verify()).toMatchObject({ intact: true, entries: 4 })
  })

  it('is made by workers, and compared by whoever may only read', async () => {
    const engine = open()
    await engine.start()
    await write(engine, 2)
    await waitUntil(async () => (await rows('select from outlay.audit_chain')).length === 2)
    await engine.stop()
    await write(engine, 1)
    const [first] = await driver.transaction(async (tx) => {
      await tx.query('set transaction read only')
      return (await tx.query('select outlay.chain_audit(10) as count')).rows
    })
    expect(first).toEqual({ count: 0 })
  })
})
