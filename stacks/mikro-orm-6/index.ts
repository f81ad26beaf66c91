// The oldest release that the driver for MikroORM is tested with. A package of its own, since its parts find each other as peers.
export { EntitySchema, MikroORM } from '@mikro-orm/postgresql'
