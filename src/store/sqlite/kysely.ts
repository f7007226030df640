import { SqliteDialect } from 'kysely'
import { closeSqlite, type Sqlite, type Value } from './sqlite.ts'

/** Kysely speaks to better-sqlite3, whose statements take an array and say whether they return rows. */
export function kyselyDialect(database: Sqlite): SqliteDialect {
  return new SqliteDialect({
    database: {
      close: () => closeSqlite(database),
      prepare(sql) {
        const statement = database.prepare(sql)
        const values = (parameters: readonly unknown[]) => parameters as Value[]
        return {
          reader: statement.columns ? statement.columns().length > 0 : RETURNS_ROWS.test(sql),
          all: (parameters) => statement.all(...values(parameters)),
          run: (parameters) => statement.run(...values(parameters)),
          iterate: (parameters) => statement.iterate(...values(parameters)),
        }
      },
    },
  })
}
/** Early Node 22 statements cannot be asked for their columns. */
const RETURNS_ROWS = /^\s*(?:select|with|pragma|explain|values)\b|\breturning\b/i
