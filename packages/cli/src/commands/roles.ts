import { type RoleNames, type RolesOptions, rolesSql } from '@outlay/adapters-pg'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'

/** Writes the SQL of the roles. Throws Misuse for names that no role can have. */
export function writeRoles(schemas: Pick<RolesOptions, 'schema' | 'queueSchema'>, roles: RoleNames): string {
  try {
    return rolesSql({ ...schemas, roles })
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error), 'Give other names of roles.')
  }
}

/** Creates the database roles and grants each what it needs. */
export async function makeRoles(session: Session, names: RoleNames): Promise<void> {
  const { schema, queueSchema, driver } = session
  await driver.session((connection) => connection.query(writeRoles({ schema, queueSchema }, names)))
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
