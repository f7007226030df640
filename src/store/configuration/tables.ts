import { createHash } from 'node:crypto'
import type { Generated } from 'kysely'

/** The tables of the configuration database. */
export interface Tables {
  meta: { key: string; value: string }
  /** STDIO and HTTP servers in one table: their ids are unique together. */
  tool_servers: {
    id: string
    type: 'stdio' | 'http'
    name: string
    /** JSON: every field that is not secret. */
    open_fields: string
    /** JSON: field to ciphertext. */
    sealed_fields: string
    created_at: number
    updated_at: number
    revision: number
  }
  /** The desired state of a server. No row: it was never set. */
  wishes: { server_id: string; desired_state: string }
  /** Cached information about a server and its tools from its last run. May be lost. */
  catalogues: {
    server_id: string
    /** JSON. */
    body: string
    /** SHA-256 of the body: SQLite does not detect a flipped bit in a text column. */
    digest: string
  }
  /** The managed entries of one agent's file. */
  agent_files: {
    /** JSON: the path of the file and the key path in it. */
    id: string
    /** Ciphertext: it includes the full definition of disabled entries. */
    body: string
  }
  /** Changes of agents' files that have begun. A row that a crash leaves is settled at the next start. */
  agent_changes: {
    id: string
    /** Ciphertext: it includes the full definition of disabled entries. */
    body: string
  }
  /** Installed packages. Their files are in the data folder. */
  packages: {
    name: string
    /** JSON. */
    body: string
    digest: string
  }
  /** Gateway keys of agents, as digests. */
  keys: {
    id: string
    name: string
    agent_type: string
    digest: string
    created_at: number
    last_used_at: number | null
  }
  /** Named secrets. */
  secrets: {
    name: string
    /** The value and the time of its last change. */
    sealed: string
  }
  /** Which tools an agent sees at the gateway. No row: all tools. */
  agent_tools: {
    agent_type: string
    /** JSON. */
    body: string
  }
  /** Named choices of servers and tools. */
  presets: {
    name: string
    /** JSON. */
    body: string
  }
  /** Approved definitions of tools and prompts, and approved instructions. */
  pins: {
    server_id: string
    /** `list`: the list with this name has been seen once. */
    kind: 'tool' | 'prompt' | 'instructions' | 'list'
    /** JSON: a name can contain characters that SQLite does not store in a text column. */
    name: string
    /** Empty when nothing was approved yet. */
    hash: string
    /** JSON. */
    definition: string
    approved_at: number
    /** Hash of the definition that awaits approval. */
    seen_hash: string | null
    seen_at: number | null
  }
  /** What needs or needed a person. May be lost. */
  notices: {
    id: number
    /** JSON, secrets masked. */
    body: string
    digest: string
  }
  /** The latest changes of servers' states. May be lost. */
  status_changes: {
    id: Generated<number>
    ts: number
    server_id: string
    status: string
    /** Why, secrets masked. */
    cause: string
  }
  /** Calls that a user saved, to make them again. */
  saved_calls: {
    id: string
    /** Ciphertext: the arguments may include secrets. */
    body: string
  }
  /** Logins at HTTP servers: tokens, issuer and client. */
  logins: {
    server_id: string
    sealed: string
  }
  /** How the last start of each server went, or the last connection to it. May be lost. */
  tries: {
    server_id: string
    /** With the server's own words, and the digest of the definition. */
    sealed: string
  }
  /** OAuth clients that Toolroom registered. */
  oauth_clients: {
    /** JSON: the issuer, the redirect URI and the resource. Older rows have no resource, and are not used. */
    id: string
    sealed: string
  }
  /** The newest 100,000 rows. */
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

/** Stored beside a text column, because SQLite does not detect a flipped bit in one. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')
