import type { Generated } from 'kysely'

/** The tables of the configuration database. */
export interface Tables {
  meta: { key: string; value: string }
  /** STDIO and HTTP servers in one table: their ids are unique together. */
  tool_servers: {
    id: string
    type: 'stdio' | 'http'
    name: string
    /** JSON: every field that is no secret. */
    open_fields: string
    /** JSON: field to ciphertext. */
    sealed_fields: string
    created_at: number
    updated_at: number
    revision: number
  }
  audit: {
    id: Generated<number>
    ts: number
    action: string
    subject: string
    request_id: string | null
    /** JSON, secrets masked. */
    detail: string
  }
}
