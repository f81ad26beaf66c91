import { describe, expect, it } from 'vitest'
import { runBeside } from './running-enqueues.ts'

describe('an enqueue that needs a savepoint', () => {
  const refused = { code: 'conflict', field: 'tx' }

  it('runs beside no other of its transaction, whichever comes first, and others run beside each other', async () => {
    const [tx, otherTx] = [{}, () => undefined]
    const held = Promise.withResolvers<string>()
    const others = [runBeside(tx, false, () => held.promise), runBeside(tx, false, () => held.promise)]
    await expect(runBeside(tx, true, async () => 'ran')).rejects.toMatchObject(refused)
    expect(await runBeside(otherTx, true, async () => 'ran')).toBe('ran')
    held.resolve('held')
    expect(await Promise.all(others)).toEqual(['held', 'held'])

    const failing = Promise.withResolvers<string>()
    const alone = runBeside(tx, true, () => failing.promise)
    await expect(runBeside(tx, false, async () => 'ran')).rejects.toMatchObject(refused)
    await expect(runBeside(tx, true, async () => 'ran')).rejects.toMatchObject(refused)
    failing.reject(new Error('lost'))
    await expect(alone).rejects.toThrow('lost')
    expect(await runBeside(tx, true, async () => 'ran')).toBe('ran')
  })

  it('leaves to the driver what is no transaction', async () => {
    expect(await runBeside(undefined, true, async () => 'ran')).toBe('ran')
  })
})
