import { type RoleNames, rolesSql } from '@outlay/adapters-pg'
import type { Session } from './session.ts'

/** Creates the database roles and grants each what it needs. */
export async function makeRoles(session: Session, names: RoleNames): Promise<void> {
  const { schema, queueSchema, driver } = session
  await driver.session((connection) => connection.query(rolesSql({ schema, queueSchema, roles: names })))
  const roles = {
    enqueue: names.enqueue ?? 'outlay_enqueue',
    worker: names.worker ?? 'outlay_worker',
    migrator: names.migrator ?? 'outlay_migrator',
    reader: names.reader ?? 'outlay_reader',
  }
  session.write(roles, () => {
    const lines = Object.entries(roles).map(([part, role]) => `${part.padEnd(8)}  ${role}`)
    return [...lines, 'Grant these to your logins. Run it again after every migration.'].join('\n')
  })
}
