import type pg from 'pg'

/* All that these tests know of the queue behind the engine. */

/** Values of the tokens that concern the queue, in the SQL of a database. */
export async function readQueueTokens(client: Pick<pg.ClientBase, 'query'>): Promise<Readonly<Record<string, string>>> {
  const { rows } = await client.query<{ table_name: string }>(
    `select table_name from outlay_queue.queue where name = 'submit'`,
  )
  return { queue: 'submit', queue_table: `"outlay_queue"."${rows[0]?.table_name}"` }
}
