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
  /** What a person last asked a server to be. No row: nobody asked yet. */
  wishes: { server_id: string; desired_state: string }
  /** What a server said of itself and its tools when it last ran. A cache: it may be lost. */
  catalogues: {
    server_id: string
    /** JSON. */
    body: string
    /** SHA-256 of the body, because SQLite does not notice a flipped bit in a text. */
    digest: string
  }
  /** What we remember of one agent's file: which entries are ours. */
  agent_files: {
    /** The file and where in it. */
    id: string
    /** Ciphertext: entries that are switched off are kept here with all they hold. */
    body: string
  }
  /** Installed packages. Their files lie beside the database. */
  packages: {
    name: string
    /** JSON. */
    body: string
    digest: string
  }
  /** Keys of agents: their digests only. */
  keys: {
    id: string
    name: string
    agent_type: string
    digest: string
    created_at: number
    last_used_at: number | null
  }
  /** Which tools an agent sees at the gateway. No row: all of them. */
  agent_tools: {
    agent_type: string
    /** JSON. */
    body: string
  }
  /** Tools as they were approved. */
  tool_pins: {
    server_id: string
    /** JSON: a name can hold what a text in SQLite cannot. */
    tool: string
    hash: string
    /** JSON. */
    definition: string
    approved_at: number
    /** Of the definition that waits for approval. */
    seen_hash: string | null
    seen_at: number | null
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
