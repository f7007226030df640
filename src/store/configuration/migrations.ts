import { type Kysely, sql } from 'kysely'

/** Schema changes, oldest first. A released step is never edited. */
export const MIGRATIONS: readonly ((db: Kysely<never>) => Promise<void>)[] = [
  async (db) => {
    await db.schema
      .createTable('meta')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('tool_servers')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('type', 'text', (column) => column.notNull().check(sql`type in ('stdio', 'http')`))
      .addColumn('name', 'text', (column) => column.notNull().unique())
      .addColumn('open_fields', 'text', (column) => column.notNull())
      .addColumn('sealed_fields', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addColumn('revision', 'integer', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('audit')
      .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
      .addColumn('ts', 'bigint', (column) => column.notNull())
      .addColumn('action', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('request_id', 'text')
      .addColumn('detail', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('wishes')
      .addColumn('server_id', 'text', (column) => column.primaryKey())
      .addColumn('desired_state', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('catalogues')
      .addColumn('server_id', 'text', (column) => column.primaryKey())
      .addColumn('body', 'text', (column) => column.notNull())
      .addColumn('digest', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('agent_files')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('body', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('packages')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('body', 'text', (column) => column.notNull())
      .addColumn('digest', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('keys')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('agent_type', 'text', (column) => column.notNull())
      .addColumn('digest', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_used_at', 'bigint')
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('agent_tools')
      .addColumn('agent_type', 'text', (column) => column.primaryKey())
      .addColumn('body', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('tool_pins')
      .addColumn('server_id', 'text', (column) => column.notNull())
      .addColumn('tool', 'text', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('definition', 'text', (column) => column.notNull())
      .addColumn('approved_at', 'bigint', (column) => column.notNull())
      .addColumn('seen_hash', 'text')
      .addColumn('seen_at', 'bigint')
      .addPrimaryKeyConstraint('tool_pins_key', ['server_id', 'tool'])
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('agent_changes')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('body', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('pins')
      .addColumn('server_id', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('definition', 'text', (column) => column.notNull())
      .addColumn('approved_at', 'bigint', (column) => column.notNull())
      .addColumn('seen_hash', 'text')
      .addColumn('seen_at', 'bigint')
      .addPrimaryKeyConstraint('pins_key', ['server_id', 'kind', 'name'])
      .execute()
    const fields = sql`hash, definition, approved_at, seen_hash, seen_at`
    await sql`insert into pins select server_id, 'tool', tool, ${fields} from tool_pins`.execute(db)
    // A server with pins has listed its tools before, so that a tool without a pin is new.
    await sql`insert into pins select distinct server_id, 'list', '"tool"', '', '', 0, null, null from tool_pins`.execute(
      db,
    )
    await db.schema.dropTable('tool_pins').execute()
  },
  async (db) => {
    await db.schema
      .createTable('secrets')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('sealed', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('presets')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('body', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('notices')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('body', 'text', (column) => column.notNull())
      .addColumn('digest', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('status_changes')
      .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
      .addColumn('ts', 'bigint', (column) => column.notNull())
      .addColumn('server_id', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('cause', 'text', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('status_changes_ts').on('status_changes').columns(['ts', 'id']).execute()
    await db.schema
      .createIndex('status_changes_server')
      .on('status_changes')
      .columns(['server_id', 'id'])
      .execute()
    await db.schema.createIndex('audit_ts').on('audit').columns(['ts', 'id']).execute()
  },
  async (db) => {
    await db.schema
      .createTable('saved_calls')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('body', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('logins')
      .addColumn('server_id', 'text', (column) => column.primaryKey())
      .addColumn('sealed', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('oauth_clients')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('sealed', 'text', (column) => column.notNull())
      .execute()
  },
  async (db) => {
    await db.schema
      .createTable('tries')
      .addColumn('server_id', 'text', (column) => column.primaryKey())
      .addColumn('sealed', 'text', (column) => column.notNull())
      .execute()
  },
]
