import { SqliteDialect } from 'kysely'
import { closeSqlite, type Sqlite, type Value } from './sqlite.ts'

/** Adapts our driver to the better-sqlite3 API that Kysely uses: parameters in an array, and `reader` for queries. */
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
/** For early Node 22 releases, whose statements have no `columns()`. */
const RETURNS_ROWS = /^\s*(?:select|with|pragma|explain|values)\b|\breturning\b/i
