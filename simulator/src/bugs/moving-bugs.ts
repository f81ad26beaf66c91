import type { Bug } from './bug.ts'

/** What is left out of the tables that go with a transfer. */
const leaving = (table: string) => ({ on: 'host', name: 'moved_tables', from: `'${table}', `, to: '' }) as const

/** Mistakes about accounts that move between databases, each with plans in which they do. */
export const movingBugs: readonly Bug[] = [
  {
    name: 'a_key_is_free_where_its_account_was',
    breaks: ['moved_whole'],
    hasNodes: true,
    sql: {
      on: 'host',
      name: 'node_refusal',
      from: 'select n.name into v_name',
      to: 'return null; select n.name into v_name',
    },
  },
  {
    name: 'the_route_is_switched_before_the_copy',
    breaks: ['one_effect'],
    hasNodes: true,
    driver: (driver) => ({
      ...driver,
      query: async (statement, values, onSent) =>
        /_(ranges|digests_of|digests)$/.test(statement.name) ? [] : driver.query(statement, values, onSent),
    }),
  },
  {
    name: 'a_move_goes_back_after_the_hand_over',
    breaks: ['moved_whole', 'one_effect'],
    hasNodes: true,
    sql: {
      on: 'host',
      name: 'move_back',
      from: `d.state in ('leaving', 'packed', 'expecting', 'arriving')`,
      to: `d.state in ('leaving', 'packed', 'expecting', 'arriving', 'handed_over', 'unpacking', 'here')`,
    },
    directory: (directory, pool) => {
      const { moves } = directory
      const back = `with back as (
          update outlay_directory.account_move m set state = 'returning' where m.id = $1::bigint and m.ended_at is null returning m.account_id, m.from_node
        )
        update outlay_directory.account a set node = b.from_node from back b where a.account_id = b.account_id`
      return {
        ...directory,
        moves: {
          ...moves,
          async open(accountId) {
            const move = await moves.open(accountId)
            return move?.state === 'switched' ? { ...move, state: 'leaving' } : move
          },
          back: async (move) => (await pool.query(back, [move])).rowCount === 1,
        },
      }
    },
  },
  {
    name: 'events_come_again_where_an_account_arrives',
    breaks: ['effects_once'],
    hasNodes: true,
    sql: {
      on: 'host',
      name: 'move_unpack_transfers',
      from: 'update {{schema}}.hold h set scope',
      to: `insert into {{schema}}.delivery (subscription, transfer_id, sequence, type, account_id)
        select s.name, e.transfer_id, e.sequence, e.type, p_account_id from {{schema}}.event e
        join {{schema}}.subscription s on s.types @> array[e.type] where e.transfer_id = any (p_ids) on conflict do nothing;
        update {{schema}}.hold h set scope`,
    },
  },
  {
    name: 'events_stay_where_their_account_was',
    breaks: ['events_reach_their_handler', 'effects_once'],
    hasNodes: true,
    sql: {
      on: 'host',
      name: 'move_pack_others',
      from: `'delivery', g.transfer_id, jsonb_agg(to_jsonb(g)) from gone g`,
      to: `'delivery', g.transfer_id, jsonb_agg(to_jsonb(g)) from gone g where false`,
    },
  },
  {
    name: 'what_limits_have_counted_stays_where_it_was',
    breaks: ['within_limits'],
    hasNodes: true,
    sql: { on: 'host', name: 'move_unpack', from: 'perform {{schema}}.move_charges(v_ids);', to: 'null;' },
  },
  { name: 'attempts_stay_where_their_account_was', breaks: ['keys'], hasNodes: true, sql: leaving('attempt') },
  {
    name: 'approvals_stay_where_their_account_was',
    breaks: ['approved_by_two'],
    hasNodes: true,
    sql: leaving('approval'),
  },
]
